"""The cache that all gateways share, on Redis or Valkey, one server or a cluster. Losing it loses nothing durable."""

from storage.redis.address import InvalidRedisUrl
from storage.redis.answers import RedisAnswers
from storage.redis.client import RedisClient, RedisRefused, connect_redis
from storage.redis.epochs import RedisEpochs
from storage.redis.fact_copies import RedisFactCopies
from storage.redis.sessions import RedisSessions
from storage.redis.shared_facts import SharedFacts

__all__ = [
    "InvalidRedisUrl",
    "RedisAnswers",
    "RedisClient",
    "RedisEpochs",
    "RedisFactCopies",
    "RedisRefused",
    "RedisSessions",
    "SharedFacts",
    "connect_redis",
]
