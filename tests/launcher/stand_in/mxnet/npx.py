"""What has nothing to do here."""


def set_np():
    pass


def waitall():
    pass
