import { type Permit, PermitUtils } from '@cofhe/sdk/permits'
import type { ChainWriter } from '../chain/clients.ts'
import { type Clock, unixSeconds } from '../clock.ts'

const lifetimeSeconds = 7 * 24 * 3600
const renewalSeconds = 24 * 3600

/** The wallet's proof that it may ask for decryptions: made when first needed, renewed a day before it expires. */
export type SelfPermit = {
  current(): Promise<Permit>
  /** Drops the permit, so that the next `current` makes a new one. */
  drop(): void
}

/** Keeps one permit in memory; the SDK's own store is not used because it writes sealing keys to `localStorage`. */
export const createSelfPermit = (chain: ChainWriter, clock: Clock): SelfPermit => {
  let held: { readonly permit: Promise<Permit>; readonly expiration: number } | undefined
  const make = (): Promise<Permit> => {
    const expiration = unixSeconds(clock) + lifetimeSeconds
    const options = { issuer: chain.walletClient.account.address, expiration }
    const permit = PermitUtils.createSelfAndSign(options, chain.publicClient, chain.walletClient)
    const mine = { permit, expiration }
    held = mine
    permit.catch(() => {
      if (held === mine) held = undefined
    })
    return permit
  }
  return {
    current: () =>
      held !== undefined && held.expiration - unixSeconds(clock) > renewalSeconds
        ? held.permit
        : make(),
    drop: () => {
      held = undefined
    },
  }
}
