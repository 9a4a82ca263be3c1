type Whole<T> = T & { readonly stop: () => Promise<void> }

/** Builds something of parts; each adds to `stops` what ends it. `stop` ends all, the last one first; when building fails, nothing is left. */
export async function whole<T extends object>(
  build: (stops: (() => unknown)[]) => Promise<T>,
): Promise<Whole<T>> {
  const stops: (() => unknown)[] = []
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end()
  }
  try {
    return { ...(await build(stops)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}
