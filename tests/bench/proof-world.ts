import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { deployContracts } from '../../contracts/deploy.ts'
import { startAnvil } from '../../contracts/local/anvil.ts'
import { placeLocalTaskManager } from '../../contracts/local/cofhe.ts'
import { localFheChainId } from '../../lib/known-networks.ts'

const main = resolve(
  import.meta.dirname,
  '..',
  '..',
  'contracts',
  'local',
  'coprocessor',
  'main.ts',
)

async function startCoprocessor(rpcUrl: string, dataFolder: string) {
  const args = ['--no-env-file', main, '--rpc-url', rpcUrl, '--data', dataFolder]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await new Promise<string>((found, failed) => {
    let told = ''
    child.stdout.on('data', (chunk: Buffer) => {
      told = (told + chunk).slice(-10_000)
      const at = /\bat (http:\S+)\n/.exec(told)?.[1]
      if (at !== undefined) found(at)
    })
    child.once('close', (code) => failed(new Error(`The coprocessor ended with ${code}: ${told}`)))
  })
  const { verifier } = (await (await fetch(url)).json()) as { readonly verifier: `0x${string}` }
  return { url, verifier, stop: () => child.kill('SIGTERM') }
}

/** A local chain with the contracts and a real local coprocessor, each in its process; the first start makes its keys (minutes). */
export async function startProofWorld() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-proof-'))
  const anvil = await startAnvil({ chainId: localFheChainId })
  const { rpcUrl, chainId, accounts } = anvil
  const ends: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true }), anvil.stop]
  const stop = async () => {
    for (const end of ends.toReversed()) await end()
  }
  try {
    const coprocessor = await startCoprocessor(rpcUrl, folder)
    ends.push(coprocessor.stop)
    await placeLocalTaskManager({ rpcUrl, chainId, verifier: coprocessor.verifier })
    const [deployer, coordinator, arbiter = coordinator, treasury = coordinator] = accounts
    const { promptKeyStore } = await deployContracts({
      rpcUrl,
      chainId,
      deployer: privateKeyToAccount(deployer.privateKey),
      coordinator: coordinator.address,
      arbiter: arbiter.address,
      treasury: treasury.address,
      minStake: 1n,
    })
    const account = privateKeyToAccount(coordinator.privateKey)
    return { rpcUrl, chainId, account, promptKeyStore, coprocessorUrl: coprocessor.url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
