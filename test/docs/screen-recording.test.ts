import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('the recording of the screen is an asciicast of version 2, from its first frame to its last', () => {
  const text = readFileSync(new URL('../../docs/use/screen.cast', import.meta.url), 'utf8');
  const [header, ...events] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  expect(header).toEqual({ version: 2, width: 90, height: 20, title: 'kubelet-ts ui' });
  const times = (events as [number, string, string][]).map(([seconds]) => seconds);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  const output = (events as [number, string, string][]).map(([, kind, shown]) => (kind === 'o' ? shown : '')).join('');
  const shown = ['kubelet-ts edge1', 'web-edge1', 'Completed', 'kubelet-ts describe', 'kubelet-ts logs', '\x1b[?1049l'];
  expect(shown.filter((part) => !output.includes(part))).toEqual([]);
});
