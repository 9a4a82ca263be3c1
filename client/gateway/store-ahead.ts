import type { GatewayOptions } from './gateway-options.ts'

/** How keys are stored ahead for jobs to come. */
export type StoreAhead = {
  /** Has one key ready for the next job of a model, in the background. */
  readonly after: (model: string) => void
}

/**
 * Keeps one key ready for each model that had a job. It stores one only after a job, so that without requests it spends
 * nothing. `onEnded` is told of each that is stored, or that failed with an error; that one is not tried again before the next job.
 */
export function createStoreAhead(
  {
    client,
    agreement,
    stopping,
  }: Pick<GatewayOptions, 'agreement' | 'stopping'> & {
    readonly client: Pick<GatewayOptions['client'], 'storeKeyAhead' | 'keysAhead'>
  },
  onEnded: (model: string, error?: unknown) => void,
): StoreAhead {
  const underWay = new Set<string>()
  const store = async (model: string): Promise<void> => {
    const wanted = { model, ...agreement, signal: stopping }
    try {
      if ((await client.keysAhead(wanted)) > 0) return
      await client.storeKeyAhead(wanted)
      onEnded(model)
    } catch (error) {
      if (!stopping.aborted) onEnded(model, error)
    } finally {
      underWay.delete(model)
    }
  }
  return {
    after: (model) => {
      if (underWay.has(model) || stopping.aborted) return
      underWay.add(model)
      void store(model)
    },
  }
}
