"""The one server that the bot is in, with a channel and a thread, as the gateway tells of it."""

from fermix.testing.servers.discord_api.world import BOT, GENERAL, GUILD, THREAD, Json, World


def guild(world: World) -> Json:
    """`GUILD_CREATE`."""
    now = world.instant()
    everyone = {
        "id": GUILD,
        "name": "@everyone",
        "color": 0,
        "colors": {"primary_color": 0},
        "hoist": False,
        "position": 0,
        "permissions": "1071698660929",
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }
    member = {"user": world.me(), "roles": [], "joined_at": now, "deaf": False, "mute": False, "flags": 0}
    return {
        "id": GUILD,
        "name": "Garden",
        "owner_id": "1",
        "roles": [everyone],
        "emojis": [],
        "stickers": [],
        "features": [],
        "channels": [channel(GENERAL)],
        "threads": [channel(THREAD)],
        "members": [member],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
        "member_count": 2,
        "large": False,
        "joined_at": now,
        "verification_level": 0,
        "explicit_content_filter": 0,
        "default_message_notifications": 0,
        "mfa_level": 0,
        "afk_timeout": 0,
        "premium_tier": 0,
        "nsfw_level": 0,
        "system_channel_flags": 0,
        "preferred_locale": "en-US",
        "premium_progress_bar_enabled": False,
        "unavailable": False,
    }


def channel(number: str) -> Json:
    """A channel of the server, its thread, or a direct chat."""
    if number == GENERAL:
        return {
            "id": GENERAL,
            "type": 0,
            "guild_id": GUILD,
            "name": "roses",
            "position": 0,
            "permission_overwrites": [],
            "nsfw": False,
            "rate_limit_per_user": 0,
            "parent_id": None,
            "flags": 0,
        }
    if number == THREAD:
        return {
            "id": THREAD,
            "type": 11,
            "guild_id": GUILD,
            "name": "pruning",
            "parent_id": GENERAL,
            "owner_id": BOT,
            "message_count": 0,
            "member_count": 1,
            "rate_limit_per_user": 0,
            "flags": 0,
            "thread_metadata": {
                "archived": False,
                "auto_archive_duration": 60,
                "archive_timestamp": "2026-01-01T00:00:00+00:00",
                "locked": False,
            },
        }
    return {"id": number, "type": 1, "recipients": [], "flags": 0}


def is_of_guild(number: str) -> bool:
    """Whether a chat belongs to the server."""
    return number in {GENERAL, THREAD}
