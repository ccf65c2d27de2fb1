"""Speed, beside other libraries; see results/ and `make bench`."""
