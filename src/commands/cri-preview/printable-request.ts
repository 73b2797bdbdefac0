/**
 * A CRI message as plain JSON: bytes as text, 64-bit numbers as numbers, and without members that say nothing. Numbers and
 * booleans stay also when they are zero: in a wrapped number that is a value.
 */
export function printableRequest(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return value.map(printableRequest);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, printableRequest(member)] as const)
      .filter(([, member]) => !saysNothing(member)),
  );
}

function saysNothing(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === '';
}
