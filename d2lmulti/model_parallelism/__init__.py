"""Part IV: networks that do not fit on one device."""
