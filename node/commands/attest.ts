import { createApi } from '../../lib/api.ts'
import { unixSeconds } from '../../lib/clock.ts'
import { fetchNetwork } from '../../lib/fetch-network.ts'
import { attest } from '../attestation/attest.ts'
import { createAttestor } from '../attestation/attestor.ts'
import { newSessionSalt, readRecord, writeRecord } from '../attestation/record.ts'
import { sessionKeyOf } from '../attestation/session.ts'
import { loadConfig } from '../config-file.ts'
import { openWallet } from '../wallet.ts'
import type { CommandContext } from './context.ts'

/** The flags of `svc-node attest`. */
export type AttestFlags = { readonly mock?: boolean; readonly json?: boolean }

/** Attests the node with the ICL and keeps the record that `run` needs (spec 4). */
export async function attestOnce(flags: AttestFlags, context: CommandContext): Promise<void> {
  const { environment, clock, random, print } = context
  const loaded = await loadConfig(environment)
  const { config, attestationPath } = loaded
  const backend = flags.mock ? 'mock' : config.attestation_backend
  const attestor = createAttestor(backend, config.mock_attestation_key)
  const { address, account, privateKey } = await openWallet(loaded, context)
  const baseUrl = config.icl_endpoint
  const network = await fetchNetwork(createApi({ ...context, baseUrl }), baseUrl)
  const icl = new URL(network.public_url).origin
  const chainId = network.chain_id
  const old = await readRecord(attestationPath, { address, icl })
  // The same salt gives the same session key: a running daemon is not superseded.
  const salt = old?.session_salt ?? newSessionSalt(random)
  const { signMessage } = account
  const attested = await attest({
    api: createApi({
      ...context,
      baseUrl,
      signer: {
        kind: 'wallet',
        address,
        chainId,
        signMessage: (message) => signMessage({ message }),
      },
    }),
    account,
    address,
    icl,
    chainId,
    sessionKey: await sessionKeyOf(privateKey, salt),
    attestor,
    clock,
  })
  await writeRecord(attestationPath, {
    version: 1,
    address,
    icl,
    chain_id: chainId,
    backend,
    certificate: attested.certificate,
    expires_at: attested.expiresAt,
    session_salt: salt,
  })
  const seconds = attested.expiresAt - unixSeconds(clock)
  if (flags.json) {
    print(JSON.stringify({ address, icl, backend, expires_at: attested.expiresAt }))
    return
  }
  print(`Attested ${address} with ${icl} (${backend}); the certificate is valid for ${seconds} s.`)
  print('Next: svc-node run')
}
