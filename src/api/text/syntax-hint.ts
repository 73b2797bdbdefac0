import type { ManifestSyntaxError } from './manifest-node.ts';

/** What to do about a text that cannot be read: what the reader says, unless the text gives away more. */
export function syntaxHint(text: string, { hint, start }: ManifestSyntaxError): string | undefined {
  if (/^(?:<{7} |={7}$|>{7} )/m.test(text)) return 'Remove the marks of a merge conflict.';
  if (lineAround(text, start).includes('{{')) {
    return 'Was this a template? Fill in its {{ … }} parts before giving it to the kubelet.';
  }
  return hint ?? (/[@`%*!&]/.test(text.charAt(start)) ? 'Put the whole value in quotes.' : undefined);
}

function lineAround(text: string, offset: number): string {
  const end = text.indexOf('\n', offset);
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, end < 0 ? undefined : end);
}
