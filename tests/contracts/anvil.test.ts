import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'

import { deployContracts } from '../../contracts/deploy.ts'
import { startAnvil } from '../../contracts/local/anvil.ts'
import { placeLocalCofhe } from '../../contracts/local/cofhe.ts'
import { createChainReader } from '../../lib/chain/clients.ts'

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a local chain', () => {
  it('starts with the chain id asked for, and stopping ends the process', async () => {
    const anvil = await startAnvil({ chainId: 424242 })
    const { publicClient } = createChainReader(anvil)
    expect(await publicClient.getChainId()).toBe(424242)
    expect(anvil.accounts[0].address).toBe('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
    expect(isAlive(anvil.pid)).toBe(true)
    await anvil.stop()
    expect(isAlive(anvil.pid)).toBe(false)
  })

  it('stops when its signal aborts', async () => {
    const ending = new AbortController()
    const anvil = await startAnvil({ signal: ending.signal })
    ending.abort()
    await anvil.stop()
    expect(isAlive(anvil.pid)).toBe(false)
  })

  it('does not outlive a process that is killed', async () => {
    const module = new URL('../../contracts/local/anvil.ts', import.meta.url).href
    const code = `import('${module}').then(async (m) => console.log((await m.startAnvil()).pid))`
    const parent = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
    const pid = await new Promise<number>((resolve) =>
      parent.stdout.once('data', (chunk) => resolve(Number(String(chunk)))),
    )
    expect(isAlive(pid)).toBe(true)
    parent.kill('SIGKILL')
    for (let tries = 0; isAlive(pid) && tries < 400; tries++) await sleep(50)
    expect(isAlive(pid)).toBe(false)
  })

  it('reports a port that is taken', async () => {
    const anvil = await startAnvil()
    const port = Number(new URL(anvil.rpcUrl).port)
    await expect(startAnvil({ port })).rejects.toThrow(/anvil ended with code|in use/i)
    await anvil.stop()
  })

  it('takes the local coprocessor twice', async () => {
    const anvil = await startAnvil()
    await placeLocalCofhe(anvil)
    await placeLocalCofhe(anvil)
    await anvil.stop()
  })

  it('names the contract that cannot be deployed, and why', async () => {
    const anvil = await startAnvil()
    const [deployer] = anvil.accounts
    const failure = await deployContracts({
      ...anvil,
      deployer: privateKeyToAccount(deployer.privateKey),
      coordinator: deployer.address,
      arbiter: deployer.address,
      treasury: deployer.address,
      minStake: 1n,
    }).catch((error: unknown) => error)
    expect(String(failure)).toContain('deploying NodeRegistry failed: InvalidHolder')
    await anvil.stop()
  })

  it('refuses to place the local coprocessor on what is no local chain', async () => {
    await expect(placeLocalCofhe({ rpcUrl: 'http://127.0.0.1:1' })).rejects.toThrow(
      /is it an anvil chain/,
    )
  })
})
