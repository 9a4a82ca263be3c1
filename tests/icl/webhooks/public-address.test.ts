import { BlockList } from 'node:net'
import { describe, expect, it } from 'vitest'
import { isPublicAddress, whyRefused } from '../../../lib/webhook-url.ts'

/** The same list by another program's code. */
const closed = new BlockList()
for (const range of [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
].flatMap((line) => line.split(' '))) {
  const [start = '', bits] = range.split('/')
  closed.addSubnet(start, Number(bits), 'ipv4')
}

describe('which addresses are public', () => {
  it('agrees with another implementation on IPv4, in every first byte and at the edges of every range', () => {
    const seconds = [0, 1, 15, 16, 17, 18, 19, 20, 31, 32, 51, 63, 64, 88, 127, 128, 168, 254, 255]
    const wrong: string[] = []
    for (let first = 0; first < 256; first++) {
      for (const second of seconds) {
        for (const third of [0, 1, 2, 3, 99, 100, 113, 255]) {
          const address = `${first}.${second}.${third}.7`
          if (isPublicAddress(address) === closed.check(address, 'ipv4')) wrong.push(address)
        }
      }
    }
    expect(wrong).toEqual([])
  })

  // IANA's special-purpose registries, first and last address of each, and one beside it that is public.
  it.each([
    ['this network', '0.0.0.0', '0.255.255.255', '1.0.0.0'],
    ['private 10', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
    ['shared address space (CGNAT)', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
    ['loopback', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
    ['link local', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
    ['private 172.16', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
    ['IETF protocols', '192.0.0.0', '192.0.0.255', '192.0.1.0'],
    ['documentation 1', '192.0.2.0', '192.0.2.255', '192.0.3.0'],
    ['AS112', '192.31.196.0', '192.31.196.255', '192.31.197.0'],
    ['AMT', '192.52.193.0', '192.52.193.255', '192.52.194.0'],
    ['6to4 relays', '192.88.99.0', '192.88.99.255', '192.88.100.0'],
    ['private 192.168', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
    ['direct AS112', '192.175.48.0', '192.175.48.255', '192.175.49.0'],
    ['benchmarking', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
    ['documentation 2', '198.51.100.0', '198.51.100.255', '198.51.101.0'],
    ['documentation 3', '203.0.113.0', '203.0.113.255', '203.0.114.0'],
    ['multicast', '224.0.0.0', '239.255.255.255', '223.255.255.255'],
    ['reserved', '240.0.0.0', '255.255.255.254', '9.9.9.9'],
    ['broadcast', '255.255.255.255', '255.255.255.255', '9.9.9.9'],
    ["a cloud's metadata server", '168.63.129.16', '168.63.129.16', '168.63.129.17'],
    ['unspecified and IPv4-compatible', '::', '::ffff:ffff', '2606:4700::1'],
    ['loopback of IPv6', '::1', '::1', '2606:4700::1'],
    ['IPv4-compatible of a public address', '::8.8.8.8', '::808:808', '2606:4700::1'],
    ['mapped private', '::ffff:10.0.0.0', '::ffff:aff:ffff', '::ffff:11.0.0.0'],
    ['mapped loopback', '::ffff:127.0.0.1', '::ffff:7fff:ffff', '::ffff:128.0.0.0'],
    ['mapped link local', '::ffff:169.254.0.0', '::ffff:a9fe:a9fe', '::ffff:8.8.8.8'],
    ['translated', '::ffff:0:0:0', '::ffff:0:808:808', '::ffff:808:808'],
    ['NAT64 to private', '64:ff9b::10.0.0.0', '64:ff9b::c0a8:101', '64:ff9b::808:808'],
    ['NAT64 to loopback', '64:ff9b::127.0.0.1', '64:ff9b::7fff:ffff', '64:ff9b::8.8.8.8'],
    ['local NAT64', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', '64:ff9b::808:808'],
    ['discard', '100::', '100::ffff:ffff:ffff:ffff', '2606:4700::1'],
    ['not assigned', '101::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2606:4700::1'],
    ['Teredo', '2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
    ['benchmarking of IPv6', '2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
    ['AMT of IPv6', '2001:3::', '2001:3:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
    ['ORCHID', '2001:10::', '2001:2f:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
    ['IETF protocols of IPv6', '2001:40::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
    ['documentation of IPv6', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::'],
    ['6to4', '2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2003::'],
    ['AS112 of IPv6', '2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff', '2620:4f:8001::'],
    ['new documentation', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
    ['not global', '4000::', '5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe::'],
    ['segment routing', '5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe::'],
    ['unique local', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe::'],
    ['link local of IPv6', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe::'],
    ['site local', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe::'],
    ['multicast of IPv6', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe::'],
  ])('%s: %s to %s are closed, %s is open', (_, first, last, beside) => {
    expect([first, last, beside].map(isPublicAddress)).toEqual([false, false, true])
  })

  it('refuses what is not of the public internet', () => {
    const refused = [
      ...['127.0.0.1', '10.1.2.3', '172.31.255.255', '192.168.0.1', '169.254.169.254', '0.0.0.0'],
      ...['100.100.100.200', '192.0.0.192', '168.63.129.16', '255.255.255.255', '224.0.0.1'],
      ...['::', '::1', 'fe80::1', 'febf::1', 'fec0::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1'],
      ...[
        '::ffff:127.0.0.1',
        '::ffff:7f00:1',
        '::ffff:a9fe:a9fe',
        '::127.0.0.1',
        '64:ff9b::10.0.0.1',
      ],
      ...[
        '64:ff9b:1::1',
        '100::1',
        '2001::1',
        '2001:db8::1',
        '2002:7f00:1::1',
        '3fff::1',
        '5f00::1',
      ],
      ...[
        '',
        'localhost',
        '1.2.3',
        '1.2.3.4.5',
        '256.1.1.1',
        '01.2.3.4',
        '1.2.3.4 ',
        ':::',
        '1::2::3',
      ],
      ...['1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '12345::', 'g::', '::1%eth0', '1:2:3:4:5:6:7::8:9'],
    ]
    expect(refused.filter(isPublicAddress)).toEqual([])
  })

  it('takes public servers', () => {
    const taken = [
      ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0'],
      ...[
        '172.15.255.255',
        '172.32.0.0',
        '192.0.1.0',
        '198.17.255.255',
        '198.20.0.0',
        '223.255.255.255',
      ],
      ...['2606:4700:4700::1111', '2a00:1450::1', '2001:4860:4860::8888', '2001:200::', '3ffe::1'],
      ...['::ffff:8.8.8.8', '64:ff9b::808:808'],
    ]
    expect(taken.filter((address) => !isPublicAddress(address))).toEqual([])
  })
})

describe('the URL of a webhook', () => {
  it('is refused for its form, and says why', () => {
    const refusals: readonly (readonly [string, RegExp])[] = [
      ['http://receiver.example/', /https/],
      ['ftp://receiver.example/', /https/],
      ['https://user:word@receiver.example/', /user/],
      ['https://user@receiver.example/', /user/],
      ['https://localhost/', /internet/],
      ['https://intranet/', /internet/],
      ['https://a.internal/', /internet/],
      ['https://printer.local./', /internet/],
      ['https://127.0.0.1/', /internet/],
      ['https://2130706433/', /internet/],
      ['https://0x7f.1/', /internet/],
      ['https://0177.0.0.1/', /internet/],
      ['https://[::1]/', /internet/],
      ['https://[::ffff:169.254.169.254]/', /internet/],
      ['no url', /read/],
    ]
    for (const [url, reason] of refusals) expect(whyRefused(url, false) ?? url).toMatch(reason)
  })

  it('may have a port, a path and a query', () => {
    expect(whyRefused('https://receiver.example:8443/hook?for=me', false)).toBeUndefined()
    expect(whyRefused('https://8.8.8.8/', false)).toBeUndefined()
  })

  it('may be of this machine and plain where that is allowed, but has no password there either', () => {
    expect(whyRefused('http://127.0.0.1:3000/', true)).toBeUndefined()
    expect(whyRefused('http://a:b@127.0.0.1:3000/', true)).toMatch(/user/)
    expect(whyRefused('file:///etc/passwd', true)).toMatch(/https/)
  })
})
