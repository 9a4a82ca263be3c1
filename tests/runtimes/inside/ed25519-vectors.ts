/** What is signed under the constant signature, which a key of small order "signs" everything with: R is the identity, S is 0. */
export const constantSignature = `AQ${'A'.repeat(84)}`

/** Public keys that must count nowhere, in base64url: the eight points of small order, and what is not canonical. */
export const weakKeys = {
  'the identity': 'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'the identity with a sign': 'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA',
  'the identity as p + 1': '7v_______________________________________38',
  'the identity as p + 1 with a sign': '7v________________________________________8',
  'order 2': '7P_______________________________________38',
  'order 2 with a sign': '7P________________________________________8',
  'order 4, all zeros': 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'order 4 with a sign': 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA',
  'order 4 as p': '7f_______________________________________38',
  'order 4 as p with a sign': '7f________________________________________8',
  'order 8, first': 'xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o',
  'order 8, first with a sign': 'xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA_o',
  'order 8, second': 'JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU',
  'order 8, second with a sign': 'JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_IU',
  'y = p + 2': '7________________________________________38',
  'y = 2^255 - 1': '_________________________________________38',
  '31 bytes': `${'B'.repeat(41)}A`,
  '33 bytes': 'B'.repeat(44),
  nothing: '',
} as const

const key = 'j-anwAVn6qZmitw_bdA1DLGO1ydeU-dZj4Ys9395JZU'
/** The same key with a component of order 8: a check that multiplies by the cofactor takes more signatures of it. */
const mixedKey = 'oYc0JtNsXBi11TJpswhPsqi3TDGjCq7a2X-FPPl_ty4'
const r = '2P_l8IksPGAzR8bvPeUejEbDTgTv5egDgr5H8zeDUW'

const vector = (
  holds: boolean,
  what: string,
  signature: string,
  by = key,
  message = 'message 0',
) => ({
  ...{ what, key: by, message, signature, holds },
})

/** Signatures on which Ed25519 implementations disagree, and what every runtime has to answer. */
export const signatureVectors: readonly ReturnType<typeof vector>[] = [
  vector(true, 'a signature', `${r}hj7UpNVL8NGTQ7lqKeamjA_oNusYmXCnRzit4SbTDsDw`),
  vector(false, 'the same with S + L', `${r}hQwUCqbiIgcQrYjUV9ZEfV_oNusYmXCnRzit4SbTDsHw`),
  vector(false, 'the same with S + 8 L', `${r}jLjPk0J9ig2eYhU7qTOWBn_4NusYmXCnRzit4SbTDsjw`),
  vector(false, 'one byte less', `${r}hj7UpNVL8NGTQ7lqKeamjA_oNusYmXCnRzit4SbTDs`),
  vector(
    true,
    'an R that is the identity',
    'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAVofnpTnTiOTZaRB-2Srw_Nx2Xmpq5FnBua_DDpzd6Ag',
  ),
  vector(
    false,
    'an R that is the identity as p + 1',
    '7v_______________________________________38r0xzsv3p8xOPIB0aTXq9GS-blSAryYjEKVdMafiOADA',
  ),
  vector(
    false,
    'an R that is the identity with a sign',
    'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIBAwUkbInexccqcPghvRVazfiCL52WpvhnHbuVrxiFKAw',
  ),
  vector(
    false,
    'a signature that only the equation with the cofactor accepts',
    `${r}jNChT9CpqGyDwmBKFCe6agM1DVEUUzAnkzPN2ZKGC8BA`,
    mixedKey,
  ),
  vector(
    true,
    'a signature of the same key that both equations accept',
    `${r}h2L5gGKJBcAG-tMeegtCTG3XZxx6q5eNDPXw-sXPbuAQ`,
    mixedKey,
    'message 3',
  ),
]
