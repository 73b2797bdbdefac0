/** Hint for a value that is invalid because a part of a template was not filled in. Returns undefined for others. */
export function templateHint(text: string): string | undefined {
  if (text.includes('{{')) {
    return 'Was this a template? Fill in its {{ … }} parts before giving it to the kubelet.';
  }
  if (/\$\{[A-Za-z_]|^\$[A-Za-z_]\w*$/.test(text)) {
    return 'Was this a template? Fill in its variables first: envsubst < FILE > NEW';
  }
  return undefined;
}
