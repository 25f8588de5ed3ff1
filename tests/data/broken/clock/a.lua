local now = os.time()
