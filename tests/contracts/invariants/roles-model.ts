import { type Hex, pad, toHex } from 'viem'
import { type Recorder, Reverted } from './outcome.ts'

/** A role's name as the contracts spell it. */
export const role = (name: string): Hex => pad(toHex(name), { dir: 'right', size: 32 })

export const nobody: Hex = `0x${'0'.repeat(40)}`

export type RolesModel = {
  readonly holders: ReadonlyMap<Hex, Hex>
  readonly offers: ReadonlyMap<Hex, Hex>
  holderOf(of: Hex): Hex
  require(of: Hex, caller: Hex): void
  offer(caller: Hex, of: Hex, next: Hex): void
  accept(caller: Hex, of: Hex): void
}

/** Roles with one holder each; `mayHold` is what the contract adds. */
export const createRolesModel = (
  initial: Readonly<Record<string, Hex>>,
  recorder: Recorder,
  mayHold: (of: Hex, holder: Hex, holders: ReadonlyMap<Hex, Hex>) => boolean = () => true,
): RolesModel => {
  const holders = new Map(Object.entries(initial).map(([name, holder]) => [role(name), holder]))
  const offers = new Map<Hex, Hex>()
  const require = (of: Hex, caller: Hex) => {
    if (holders.get(of) !== caller) throw new Reverted('MissingRole')
  }
  return {
    holders,
    offers,
    holderOf: (of) => holders.get(of) ?? nobody,
    require,
    offer: (caller, of, next) => {
      require(of, caller)
      offers.set(of, next)
      recorder.emit('RoleOffered', of, caller, next)
    },
    accept: (caller, of) => {
      if (offers.get(of) !== caller) throw new Reverted('RoleNotOffered')
      if (!mayHold(of, caller, holders)) throw new Reverted('InvalidHolder')
      offers.delete(of)
      recorder.emit('RoleTransferred', of, holders.get(of) ?? nobody, caller)
      holders.set(of, caller)
    },
  }
}
