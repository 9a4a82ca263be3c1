const parties = [
  ['You, in this browser', 'Prompt, answer and all keys'],
  ['The nodes of your quorum', 'The prompt. Those that agree also read the answer'],
  ['The provider of a hosted model', 'Prompt and answer, from the nodes: not who you are'],
  ['The ICL', 'Your address, the model, encrypted blobs, who agreed with whom'],
  ['The chain', 'Handles of encrypted keys, and the hash of the receipt'],
] as const

/** Explains what each party gets to know. */
export function WhoSeesWhat() {
  return (
    <section class="panel" aria-labelledby="parties-title">
      <h2 id="parties-title">Who sees what</h2>
      <dl class="parties">
        {parties.map(([who, what]) => (
          <div key={who}>
            <dt>{who}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
