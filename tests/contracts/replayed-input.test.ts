import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, expect, it } from 'vitest'
import { artifactOf } from '../../contracts/deployment-steps.ts'
import { compileSolidity } from '../../contracts/solc.ts'
import { readSources } from '../../contracts/sources.ts'
import { taskManager } from '../../lib/chain/task-manager.ts'
import { waitForReceipt } from '../../lib/chain/wait-for-receipt.ts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import { systemClock } from '../../lib/system.ts'
import { createKeyActions } from './stored-keys.ts'
import { send, startTestChain } from './test-chain.ts'

const OWNER = 4
const THIEF = 5
const chain = await startTestChain()
const keys = createKeyActions(chain)
afterAll(() => chain.stop())

const source = `// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;
import {EncryptedInput, ITaskManager} from "@fhenixprotocol/cofhe-contracts/ICofhe.sol";
contract Replay {
    function read(ITaskManager manager, EncryptedInput calldata input, address owner) external {
        manager.allow(uint256(manager.verifyInput(input, owner)), msg.sender);
    }
}`

// CoFHE 0.1 signs an input for a wallet, not for a contract, and calls of verifyInput name the wallet.
it('lets a stranger read a key whose inputs it replays from call data, past PromptKeyStore', async () => {
  const key = await keys.storeAs(OWNER)
  const account = privateKeyToAccount(chain.anvil.accounts[THIEF]!.privateKey)
  const coprocessor = createCofheCoprocessor({ ...chain.anvil, account, clock: systemClock })
  await expect(coprocessor.decrypt(key.high)).rejects.toThrow()
  const sources = [['Replay.sol', source], ...(await readSources())] as const
  const { abi, bytecode } = artifactOf(compileSolidity(new Map(sources)), 'Replay')
  const thief = chain.wallet(THIEF)
  const hash = await thief.walletClient.deployContract({ abi, bytecode })
  const address = (await waitForReceipt(thief, hash)).contractAddress!
  for (const input of [key.input.high, key.input.low]) {
    const args = [taskManager, input, chain.addressOf(OWNER)]
    await send(thief, { address, abi, functionName: 'read', args })
  }
  expect(await coprocessor.decrypt(key.low)).toBe((await coprocessor.decrypt(key.high)) + 1n)
})
