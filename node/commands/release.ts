import { rm } from 'node:fs/promises'
import { readRecord } from '../attestation/record.ts'
import { loadConfig } from '../config-file.ts'
import { locked, lockPathOf } from '../journal/lock.ts'
import { openWallet, walletApi } from '../wallet.ts'
import { type CommandContext, warnOf } from './context.ts'
import type { Given } from './options.ts'
import { confirmed } from './prompts.ts'
import { ownNetworkOf, withTimeout } from './reach.ts'

/** Frees this wallet's TPM for another wallet. A running daemon would enrol it again, so it throws SvcError `already-running` then. */
export async function releaseTpm(
  flags: Given<'release'>,
  context: CommandContext,
): Promise<undefined> {
  const { print, warn } = context
  const loaded = await loadConfig(context.environment, warnOf(context))
  await locked(lockPathOf(loaded.configPath), async () => {
    const wallet = await openWallet(loaded, context)
    const { address } = wallet
    const network = await ownNetworkOf(loaded.config, context)
    const icl = new URL(network.public_url).origin
    const question = `Let another wallet use the TPM of ${address} at ${icl}? This node gets no more jobs.`
    await confirmed(context, flags, question)
    const api = walletApi(context, wallet, { icl, chainId: network.chain_id })
    const { released } = await withTimeout(context, `the ICL at ${icl}`, (signal) =>
      api.releaseTpm({ body: { operator_address: address } }, { signal }),
    )
    // With the record, a daemon would attest again and enrol the TPM with this wallet.
    const record = await readRecord(loaded.attestationPath, { address, icl })
    if (record?.backend === 'tpm') await rm(loaded.attestationPath, { force: true })
    if (flags.json) {
      print(JSON.stringify({ address, icl, released }))
      return
    }
    if (released.length === 0) warn(`The ICL knows no TPM of ${address}. Nothing was released.`)
    for (const ek of released) print(`Released the TPM ${ek} of ${address}.`)
    if (released.length > 0) print('Next: svc-node attest with the other wallet')
  })
}
