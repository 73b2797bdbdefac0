/** A value as text. Invalid UTF-8 and halves of characters become replacement characters, as in every output. */
export const toText = (value: string | Uint8Array): string => Buffer.from(value).toString('utf8');
