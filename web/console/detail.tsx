import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { short } from './format.ts'

type Props = {
  readonly kind: 'Job' | 'Node'
  readonly name: string
  readonly back: string
  readonly children: ComponentChildren
}

/** The panel of what is open. Its heading gets the focus, so that a screen reader says what was opened. */
export function Detail({ kind, name, back, children }: Props) {
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => title.current?.focus(), [])
  const id = `${kind.toLowerCase()}-title`
  return (
    <section class="panel detail" aria-labelledby={id}>
      <a class="close" href={back}>
        Close
      </a>
      <h2 id={id} tabIndex={-1} ref={title}>
        {`${kind} `}
        <code>{short(name)}</code>
      </h2>
      {children}
    </section>
  )
}
