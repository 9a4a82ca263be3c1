import type { Store } from './store.ts'

/** Returns the store with something to do before each change; an error of it becomes that of the change. */
export function beforeChanges<T extends Store>(store: T, prepare: () => Promise<void>): T {
  const prepared =
    <Args extends unknown[], R>(change: (...args: Args) => Promise<R>) =>
    async (...args: Args): Promise<R> => {
      await prepare()
      return change(...args)
    }
  const { save, saveAll, restore, prune, dropBlobs, erase } = store
  return {
    ...store,
    ...{ save: prepared(save), saveAll: prepared(saveAll), restore: prepared(restore) },
    ...{ prune: prepared(prune), dropBlobs: prepared(dropBlobs), erase: prepared(erase) },
  }
}
