"""The spool: traces on the local disk while their store is out, so that no answer leaves without a durable trace."""

from storage.spool.drain import Drained, Drains
from storage.spool.keys import Sealer, SpoolKeys
from storage.spool.master import MasterSpoolKeys
from storage.spool.opening import open_spools
from storage.spool.spool import Spool

__all__ = ["Drained", "Drains", "MasterSpoolKeys", "Sealer", "Spool", "SpoolKeys", "open_spools"]
