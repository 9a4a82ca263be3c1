import { useEffect, useRef, useState } from 'preact/hooks'
import { Announcer } from './announcer.tsx'
import { AnswerPanel } from './answer-panel.tsx'
import { type AccountChoice, type Connection, connect, type Place } from './connect.ts'
import { FailureNote } from './failure-note.tsx'
import { PromptForm } from './prompt-form.tsx'
import { ReceiptPanel } from './receipt-panel.tsx'
import { runInference, type Wish } from './run-inference.ts'
import { afterNews, newRun, type Run, type RunNews } from './run-state.ts'
import { StepList } from './step-list.tsx'
import { useReveal } from './use-reveal.ts'
import { discoverWallets, type OfferedWallet } from './wallets.ts'
import { WhoSeesWhat } from './who-sees-what.tsx'

type Connected = { readonly choice: AccountChoice; readonly connection: Promise<Connection> }

/** The page once the ICL is known: the form, and its run. */
export function Playground({ place, models }: { place: Place; models: readonly string[] }) {
  const [wallets, setWallets] = useState<readonly OfferedWallet[]>([])
  const [run, setRun] = useState<Run | undefined>(undefined)
  const connected = useRef<Connected | undefined>(undefined)
  const stop = useRef<AbortController | undefined>(undefined)
  useEffect(() => discoverWallets(setWallets), [])

  // A connection stays for the next prompt, so that an account signs one permit. That also holds if the prompt is cancelled meanwhile.
  const connectionFor = (choice: AccountChoice): Promise<Connection> => {
    const present = connected.current
    if (present?.choice?.id === choice?.id && present) return present.connection
    present?.connection.then(({ stop: end }) => end()).catch(() => {})
    const connection = connect(place, choice)
    connected.current = { choice, connection }
    connection.catch(() => {
      if (connected.current?.connection === connection) connected.current = undefined
    })
    return connection
  }
  const start = (wish: Wish, choice: AccountChoice) => {
    const mine = new AbortController()
    stop.current = mine
    setRun(newRun())
    const tell = (news: RunNews) => {
      if (stop.current === mine) setRun((present) => present && afterNews(present, news))
    }
    if (choice) tell({ kind: 'preparing', what: `Waiting for ${choice.name}` })
    void runInference(connectionFor(choice), wish, tell, mine.signal)
  }

  return (
    <div class="columns">
      <div class="left">
        <PromptForm
          place={place}
          models={models}
          wallets={wallets}
          isRunning={run?.status === 'running'}
          onRun={start}
          onCancel={() => stop.current?.abort()}
        />
        {run === undefined && <WhoSeesWhat />}
        {run?.reopens === false && <ClosingNote />}
        {run?.failure && <FailureNote failure={run.failure} />}
        {run?.inference?.status === 'accepted' && <AnswerPanel inference={run.inference} />}
        {run?.inference?.status === 'accepted' && (
          <ReceiptPanel inference={run.inference} checks={run.checks} />
        )}
      </div>
      <div class="right">
        <StepList run={run} />
      </div>
      <Announcer run={run} />
    </div>
  )
}

/** Tells before anything is paid that the wallet did not give the secret of its jobs. */
function ClosingNote() {
  return (
    <section ref={useReveal()} class="note" role="status">
      <h2>Keep this page open</h2>
      <p>
        Your wallet declined to sign for the secret of your jobs, or signs differently each time.
        Only this page can open the answer, and only until you close it. Cancel if that is not
        enough.
      </p>
    </section>
  )
}
