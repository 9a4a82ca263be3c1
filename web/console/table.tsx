import type { ComponentChildren } from 'preact'

/** A column's name, in a list of two with its class where it has one. */
export type Heading = string | readonly [name: string, kind: string]

type Props = {
  readonly headings: readonly Heading[]
  readonly caption?: string
  readonly kind?: string
  readonly children: ComponentChildren
}

/** A table with its head. The children are its rows. */
export const Table = ({ headings, caption, kind = 'list', children }: Props) => (
  <table class={kind}>
    {caption && <caption>{caption}</caption>}
    <thead>
      <tr>
        {headings.map((heading) => {
          const [name, kind] = typeof heading === 'string' ? [heading] : heading
          return (
            <th scope="col" class={kind} key={name}>
              {name}
            </th>
          )
        })}
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
)

/** The heading of a column of numbers. */
export const ofNumbers = (name: string): Heading => [name, 'number']
