/** The expiry of a key that stays for good: the end of the year 9999 in milliseconds, which every store can hold. */
export const forever = 253_402_300_799_000
