"""Serves when it is imported by a scheduler or a server, as MXNet does."""

import os
import sys

from .kvstore import KVStore, connect, schedule

if os.environ.get('DMLC_ROLE') == 'scheduler':
    schedule()
    sys.exit()
if os.environ.get('DMLC_ROLE') == 'server':
    connect().receive()  # what tells it of the end
    sys.exit()


def create(name):
    return KVStore()
