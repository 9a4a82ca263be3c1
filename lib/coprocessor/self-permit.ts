import { type Permit, PermitUtils } from '@cofhe/sdk/permits'
import { isAddressEqual } from 'viem'
import { taskManagerAbi } from '../abi/task-manager.ts'
import type { ChainWriter } from '../chain/clients.ts'
import { taskManager } from '../chain/task-manager.ts'
import { type Clock, unixSeconds } from '../clock.ts'
import { SvcError } from '../svc-error.ts'
import type { PermitNews } from './cofhe-options.ts'
import { sdkClients } from './connection.ts'

const lifetimeSeconds = 7 * 24 * 3600
const renewalSeconds = 24 * 3600

/** The wallet's permit for decryptions: made at first need, renewed a day before it expires. */
export type SelfPermit = {
  current(): Promise<Permit>
  /** Drops the permit, so that the next `current` makes a new one. */
  drop(): void
}

/** Keeps one permit in memory. The SDK's own store would write sealing keys to `localStorage`. */
export const createSelfPermit = (
  chain: ChainWriter,
  clock: Clock,
  onMade: (news: PermitNews) => void = () => {},
): SelfPermit => {
  let held: { readonly permit: Promise<Permit>; readonly expiration: number } | undefined
  const make = (): Promise<Permit> => {
    const expiration = unixSeconds(clock) + lifetimeSeconds
    const permit = sign(chain, expiration)
    const mine = { permit, expiration }
    held = mine
    permit.then(
      () => onMade({ issuer: chain.walletClient.account.address, expiration }),
      () => {
        if (held === mine) held = undefined
      },
    )
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

async function sign(chain: ChainWriter, expiration: number): Promise<Permit> {
  const { publicClient, walletClient } = chain
  const options = { issuer: walletClient.account.address, expiration }
  const [permit, acl] = await Promise.all([
    PermitUtils.createSelfAndSign(options, ...sdkClients(chain)),
    publicClient.readContract({ address: taskManager, abi: taskManagerAbi, functionName: 'acl' }),
  ])
  const domain = permit._signedDomain
  // The SDK uses this chain id. A wrong one would send the permit to another network, or to none.
  const isMeant =
    domain?.chainId === publicClient.chain.id && isAddressEqual(domain.verifyingContract, acl)
  if (isMeant) return permit
  throw new SvcError(
    'coprocessor-permit-invalid',
    `the chain's access list says that it is ${domain?.verifyingContract} on chain ${domain?.chainId}`,
    { hint: 'Check the chain RPC: cofhe_endpoint (SVC_COFHE_ENDPOINT).' },
  )
}
