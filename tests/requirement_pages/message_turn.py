"""Behaviours of the design's life of a message, second half: lane, preparation, turn, settlement, delivery."""

from tests.requirement_pages.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        id="lane.table_is_the_queue",
        source="design#the-life-of-a-message 7",
        behaviour=(
            "A waiting message is found again by a dispatcher that has just started; nothing that waits "
            "lives in memory alone."
        ),
    ),
    Requirement(
        id="lane.head_in_preparation_holds_lane",
        source="design#the-life-of-a-message 7",
        behaviour=(
            "A head whose media is being prepared is not claimed, takes no slot and lets nothing of its "
            "lane overtake it."
        ),
    ),
    Requirement(
        id="lane.failed_preparation_waits_its_turn",
        source="design#the-life-of-a-message 7",
        behaviour="A message whose preparation failed settles at its place in the lane without a model call.",
    ),
    Requirement(
        id="lane.slots_are_bounded",
        source="design#the-life-of-a-message 7",
        behaviour="At most `max_concurrent_turns` (16) turns run at once.",
    ),
    Requirement(
        id="lane.provider_may_lower_slots",
        source="design#the-life-of-a-message 7",
        behaviour="A provider can lower the number of turns that run on it at once; `local` runs one.",
    ),
    Requirement(
        id="lane.fair_between_conversations",
        source="design#the-life-of-a-message 7",
        behaviour=(
            "A conversation with a long queue does not keep another one's first message from being "
            "claimed next."
        ),
    ),
    Requirement(
        id="lane.slot_free_while_human_is_asked",
        source="design#the-life-of-a-message 7",
        behaviour="A turn that waits for a human's answer holds no slot.",
    ),
    Requirement(
        id="lane.new_message_waits",
        source="design#the-life-of-a-message",
        behaviour=(
            "What a new message does to a busy lane is the answer of one pure policy: it waits and never "
            "interrupts the running turn."
        ),
        ruling="where the documents disagree: does a new message interrupt the running turn",
    ),
    Requirement(
        id="turn.corrections_are_looked_for",
        source="design#the-life-of-a-message",
        behaviour="The agent loop looks into the correction inbox at each boundary between steps.",
        ruling="where the documents disagree: does a new message interrupt the running turn",
    ),
    Requirement(
        id="turn.reauthorised_at_claim",
        source="design#the-life-of-a-message 7",
        behaviour=(
            "At claim the sender is authorised again and the turn runs with the lower of the two trusts."
        ),
    ),
    Requirement(
        id="turn.rejected_when_no_longer_allowed",
        source="design#the-life-of-a-message 7",
        behaviour=(
            "A turn whose sender is no longer allowed settles `rejected`, with a warning and without a "
            "word to the sender."
        ),
    ),
    Requirement(
        id="media.prepared_at_admission",
        source="design#the-life-of-a-message 8",
        behaviour="Media is fetched as soon as its message is admitted, not when its turn comes.",
    ),
    Requirement(
        id="media.byte_caps_on_the_stream",
        source="design#the-life-of-a-message 8",
        behaviour="A download ends at its byte cap whatever size was declared.",
    ),
    Requirement(
        id="media.order_is_kept",
        source="design#the-life-of-a-message 8",
        behaviour="Attachments reach the turn in the order in which they were sent.",
    ),
    Requirement(
        id="media.not_prepared_twice",
        source="design#the-life-of-a-message 8",
        behaviour="What was fetched or transcribed before a restart is not fetched or transcribed again.",
    ),
    Requirement(
        id="media.decoders_run_in_a_child",
        source="design#the-life-of-a-message 8",
        behaviour="Native decoders run in a child process, and its crash fails one attachment only.",
    ),
    Requirement(
        id="media.nothing_readable_looks_empty",
        source="design#the-life-of-a-message 8",
        behaviour="A message that brings nothing readable after its preparation gets the looks-empty reply.",
    ),
    Requirement(
        id="album.collecting_holds_the_lane",
        source="design#the-life-of-a-message 8",
        behaviour="While an album collects, no younger message of its lane overtakes it.",
    ),
    Requirement(
        id="album.part_restarts_the_window",
        source="design#the-life-of-a-message 8",
        behaviour="Each part of an album joins its collecting turn and starts the window anew.",
    ),
    Requirement(
        id="album.closes_at_ten_or_window_end",
        source="design#the-life-of-a-message 8",
        behaviour="A collecting album becomes ready at its tenth part or at the end of its window.",
    ),
    Requirement(
        id="turn.events.numbered",
        source="design#the-life-of-a-message 9",
        behaviour=(
            "The events of a turn are numbered without gaps at their source, and `completed` is the last "
            "one, however the turn ends."
        ),
    ),
    Requirement(
        id="turn.events.after_the_commit",
        source="design#the-life-of-a-message 9",
        behaviour="An event that speaks of a commit is published after it.",
    ),
    Requirement(
        id="turn.events.slow_reader_gets_a_gap",
        source="design#the-life-of-a-message 9",
        behaviour="A reader that is too slow is told of a gap and never holds the turn.",
    ),
    Requirement(
        id="turn.bounds.iterations",
        source="design#the-life-of-a-message 9",
        behaviour="A turn ends with the step-limit text after `max_iterations` (100) calls of the model.",
    ),
    Requirement(
        id="turn.bounds.time",
        source="design#the-life-of-a-message 9",
        behaviour="A turn that runs longer than `turn_timeout_seconds` (900) is ended and its asker told.",
    ),
    Requirement(
        id="turn.bounds.repeated_calls",
        source="design#the-life-of-a-message 9",
        behaviour="A model that repeats an equal tool call is warned and then stopped by the loop detector.",
    ),
    Requirement(
        id="turn.tool_calls.read_only_together",
        source="design#the-life-of-a-message 9",
        behaviour="The read-only tool calls of one model answer run at the same time.",
        ruling="where the documents disagree: tool calls of one model answer",
    ),
    Requirement(
        id="turn.tool_calls.others_in_order",
        source="design#the-life-of-a-message 9",
        behaviour=(
            "The other tool calls of one model answer run one after another, and all results go back in "
            "the order of the calls."
        ),
        ruling="where the documents disagree: tool calls of one model answer",
    ),
    Requirement(
        id="turn.blank_completion.marker",
        source="design#the-life-of-a-message 9",
        behaviour=(
            "A blank completion after a reaction or a sent file commits a short marker instead of nothing."
        ),
    ),
    Requirement(
        id="typing.after_300_ms",
        source="design#the-life-of-a-message 9",
        behaviour="Typing starts only when the model has not answered within 300 ms.",
        ruling='where the documents disagree: typing "immediately"',
    ),
    Requirement(
        id="typing.repeats",
        source="design#the-life-of-a-message 9",
        behaviour="Typing is repeated every 4 seconds for at most 300 seconds.",
    ),
    Requirement(
        id="typing.never_awaited_before_the_model",
        source="design#the-life-of-a-message 9",
        behaviour="The model is asked without waiting for the typing indicator.",
    ),
    Requirement(
        id="settle.one_transaction",
        source="design#the-life-of-a-message 10",
        behaviour="Outcome, history rows and outbox parts of a turn are committed in one synced transaction.",
    ),
    Requirement(
        id="settle.history_is_whole",
        source="design#the-life-of-a-message 10",
        behaviour=(
            "A settled turn leaves the user's message, its tool calls with results, and the answer in "
            "history, in order."
        ),
    ),
    Requirement(
        id="settle.stopped_turn_says_nothing",
        source="design#the-life-of-a-message 10",
        behaviour=(
            "A turn that was stopped neither delivers nor commits an answer, even if its model answers later."
        ),
    ),
    Requirement(
        id="settle.failure_is_told",
        source="design#the-life-of-a-message 10",
        behaviour=(
            "A failed turn is answered with the sentence of its failure and the next turn of the lane runs."
        ),
    ),
    Requirement(
        id="deliver.in_order",
        source="design#the-life-of-a-message 10",
        behaviour="The parts of a reply leave one after another, in order.",
    ),
    Requirement(
        id="deliver.waits_for_the_older_part",
        source="design#the-life-of-a-message 10",
        behaviour="A part does not leave before the older open part for the same target has ended.",
    ),
    Requirement(
        id="deliver.splits_at_the_cap",
        source="design#the-life-of-a-message 10",
        behaviour=(
            "Text over the channel's cap is split, never cut off and never refused; a code fence is "
            "closed and reopened."
        ),
        ruling="where the documents disagree: text over a channel's cap",
    ),
    Requirement(
        id="typing.always_stopped",
        source="design#the-life-of-a-message 10",
        behaviour="Typing ends with the turn, also when the turn fails or is cancelled.",
    ),
    Requirement(
        id="post_reply.off_the_replys_path",
        source="design#the-life-of-a-message 10",
        behaviour="Compaction and memory begin after the reply is delivered and never delay it.",
    ),
)
