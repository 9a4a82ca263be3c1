import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { PcrPolicy } from '../../../icl/attestation/pcr-policy.ts'
import type { TpmTrust } from '../../../icl/attestation/tpm-trust.ts'
import { readPemCertificates } from '../../../icl/attestation/x509.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { type AttestOptions, attest } from '../../../node/attestation/attest.ts'
import { createAttestor } from '../../../node/attestation/attestor.ts'
import type { AttestationStep } from '../../../node/attestation/proof.ts'
import { findTpm } from '../../../node/attestation/tpm/find-tpm.ts'
import type { TpmAttestorOptions } from '../../../node/attestation/tpm/tpm.ts'
import { createFakeChain } from '../../icl/fake-chain.ts'
import { createReplica, origin, sessionKeyOf, type TestIcl, walletOf } from '../../icl/test-icl.ts'
import { privateKeyOf, readerOf } from '../../sample-reading.ts'
import type { Swtpm } from '../../tools/swtpm.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

/** What an ICL has to trust for the TPMs that these certificates vouch for. */
export const trustIn = (rootsPem: string, changes: Partial<TpmTrust> = {}): TpmTrust => ({
  roots: readPemCertificates(rootsPem),
  models: undefined,
  policy: PcrPolicy.parse({}),
  highestTier: 2,
  ...changes,
})

/** An ICL that accepts TPMs, at the time of now: certificates of a new swtpm begin now. */
export const startTpmIcl = (tpm: TpmTrust): Promise<TestIcl> =>
  createReplica(
    {
      clock: createVirtualClock(Date.now()),
      chain: createFakeChain(),
      store: createMemoryStore(),
    },
    { tpm },
  )

/** What a node's side needs of a TPM. */
export const tpmOf = (
  { setting }: Pick<Swtpm, 'setting'>,
  changes: Partial<TpmAttestorOptions> = {},
): TpmAttestorOptions => ({
  device: findTpm(setting),
  clock: systemClock,
  random: systemRandom,
  certificatesPath: undefined,
  ...changes,
})

/** Attests a wallet by a TPM, as `svc-node attest` does; gives what happened on the way. */
export async function attestBy(
  icl: Pick<TestIcl, 'api'>,
  name: string,
  tpm: TpmAttestorOptions,
  changes: Partial<AttestOptions> = {},
) {
  const { account, address, signer } = walletOf(name)
  const steps: AttestationStep[] = []
  const attested = await attest({
    api: icl.api(signer),
    account,
    signer: { kind: 'node', address, key: await sessionKeyOf(name) },
    icl: origin,
    chainId: 31_337,
    readingKey: await readerOf(privateKeyOf(name)),
    attestor: createAttestor('tpm', { tpm }),
    clock: systemClock,
    note: (step) => steps.push(step),
    ...changes,
  })
  return { ...attested, address, steps, kinds: steps.map(({ kind }) => kind) }
}

const execute = promisify(execFile)

/** Runs one of Debian's tpm2-tools on a software TPM, and frees the room of the keys that it leaves there. */
export async function tpm2(
  { tcti }: Pick<Swtpm, 'tcti'>,
  cwd: string,
  command: string,
  ...args: readonly string[]
): Promise<string> {
  const env = { PATH: process.env.PATH, TPM2TOOLS_TCTI: tcti }
  const { stdout } = await execute(`tpm2_${command}`, args, { cwd, env })
  await execute('tpm2_flushcontext', ['-t'], { cwd, env })
  return stdout
}
