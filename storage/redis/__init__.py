"""The cache that all gateways share, on Redis or Valkey, one server or a cluster. Losing it loses nothing durable."""

from storage.redis.address import InvalidRedisUrl
from storage.redis.client import RedisClient, RedisRefused, connect_redis
from storage.redis.epochs import RedisEpochs
from storage.redis.sessions import RedisSessions

__all__ = ["InvalidRedisUrl", "RedisClient", "RedisEpochs", "RedisRefused", "RedisSessions", "connect_redis"]
