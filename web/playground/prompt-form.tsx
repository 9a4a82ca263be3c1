import type { TargetedSubmitEvent } from 'preact'
import { useState } from 'preact/hooks'
import { isLocalChain } from './chains.ts'
import type { AccountChoice, Place } from './connect.ts'
import type { Wish } from './run-inference.ts'
import type { OfferedWallet } from './wallets.ts'

const encoder = new TextEncoder()
const usualTokens = 1_024
const mostTokens = 8_192
const leastQuorum = 3
const mostQuorum = 6
const throwAway = 'throw-away'

type Props = {
  readonly place: Place
  readonly models: readonly string[]
  readonly wallets: readonly OfferedWallet[]
  readonly isRunning: boolean
  readonly onRun: (wish: Wish, choice: AccountChoice) => void
  readonly onCancel: () => void
}

/** Asks for the prompt, the model and the account. */
export function PromptForm({ place, models, wallets, isRunning, onRun, onCancel }: Props) {
  const [prompt, setPrompt] = useState('')
  const [model, setModel] = useState(models[0] ?? '')
  const [quorum, setQuorum] = useState(leastQuorum)
  const [maxOutputTokens, setMaxOutputTokens] = useState(usualTokens)
  const [chosen, setChosen] = useState<string>()
  const { network, settings } = place
  const isLocal = isLocalChain(network.chain_id, settings.rpc_url)
  const offered = [...(isLocal ? [throwAway] : []), ...wallets.map(({ id }) => id)]
  // The chosen wallet may have gone. Then the form shows and uses another one.
  const account = offered.find((id) => id === chosen) ?? offered[0]
  const bytes = encoder.encode(prompt).length
  const maxBytes = network.limits.prompt_bytes
  const problem = problemOf(bytes, maxBytes, models, account)
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isRunning || problem !== undefined) return
    const wish = { prompt, model, quorum, maxOutputTokens }
    onRun(
      wish,
      wallets.find(({ id }) => id === account),
    )
  }
  return (
    <form class="panel" onSubmit={submit}>
      <label for="prompt">Prompt</label>
      <textarea
        id="prompt"
        rows={6}
        value={prompt}
        spellcheck={false}
        placeholder="Only you, the nodes of your quorum and their model will read this."
        aria-describedby="prompt-note"
        onInput={({ currentTarget }) => setPrompt(currentTarget.value)}
      />
      <p id="prompt-note" class="fine">
        {bytes.toLocaleString('en')} of {maxBytes.toLocaleString('en')} bytes
      </p>
      <div class="fields">
        <div>
          <label for="model">Model</label>
          <select
            id="model"
            value={model}
            onChange={({ currentTarget }) => setModel(currentTarget.value)}
          >
            {models.map((id) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        </div>
        <AccountField account={account} isLocal={isLocal} wallets={wallets} onChoose={setChosen} />
      </div>
      <details>
        <summary>More options</summary>
        <div class="fields">
          <NumberField
            id="quorum"
            label="Quorum: nodes that answer at first"
            range={[leastQuorum, mostQuorum]}
            value={quorum}
            onChange={setQuorum}
          />
          <NumberField
            id="tokens"
            label="Longest answer, in tokens"
            range={[1, mostTokens]}
            value={maxOutputTokens}
            onChange={setMaxOutputTokens}
          />
        </div>
      </details>
      <div class="actions">
        <button type="submit" disabled={isRunning || problem !== undefined}>
          Encrypt and run
        </button>
        <button type="button" class="quiet small" disabled={!isRunning} onClick={onCancel}>
          Cancel
        </button>
        {problem !== undefined && !isRunning && <p class="fine">{problem}</p>}
      </div>
    </form>
  )
}

function problemOf(
  bytes: number,
  maxBytes: number,
  models: readonly string[],
  account: string | undefined,
): string | undefined {
  if (models.length === 0) return 'No model is served now: reload the page when nodes are active.'
  if (account === undefined) return 'Install a wallet, or unlock it: it signs and pays for the key.'
  if (bytes === 0) return 'Type a prompt first.'
  if (bytes > maxBytes) return 'The prompt is too long.'
  return undefined
}

function AccountField({
  account,
  isLocal,
  wallets,
  onChoose,
}: {
  readonly account: string | undefined
  readonly isLocal: boolean
  readonly wallets: readonly OfferedWallet[]
  readonly onChoose: (id: string) => void
}) {
  return (
    <div>
      <label for="account">Account</label>
      <select
        id="account"
        value={account ?? ''}
        aria-describedby="account-note"
        onChange={({ currentTarget }) => onChoose(currentTarget.value)}
      >
        {account === undefined && <option value="">No wallet found</option>}
        {isLocal && <option value={throwAway}>Throw-away key</option>}
        {wallets.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      <p id="account-note" class="fine">
        {account === throwAway
          ? 'Made for this page and gone with it. On local chains only.'
          : 'It signs the job and the permit, and pays for storing the key.'}
      </p>
    </div>
  )
}

function NumberField({
  id,
  label,
  range: [min, max],
  value,
  onChange,
}: {
  readonly id: string
  readonly label: string
  readonly range: readonly [number, number]
  readonly value: number
  readonly onChange: (value: number) => void
}) {
  return (
    <div>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="number"
        min={min}
        max={max}
        step={1}
        required
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.valueAsNumber)}
      />
    </div>
  )
}
