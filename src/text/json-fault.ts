/** Returns where and why a text is not JSON, such as `line 4, column 2: Unexpected token`. Undefined if it is. */
export function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const { message } = error as SyntaxError;
    const [, why = message, position] = /^(.*?)(?: in JSON)?(?: at position (\d+).*)?$/s.exec(message) ?? [];
    const before = text.slice(0, position === undefined ? text.length : Number(position)).split('\n');
    return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${why}`;
  }
}
