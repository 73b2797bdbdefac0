import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import type { Frame } from '../../src/tui/frame-lines.ts';
import { type InkScreen, mountInkScreen } from '../../src/tui/ink-screen.tsx';
import { rowOf } from '../../src/tui/row.ts';
import { printable } from '../../src/text/visible-text.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { FakeStdin } from './fake-terminal.ts';

const screens: InkScreen[] = [];
afterEach(() => {
  screens.splice(0).forEach((screen) => {
    screen.unmount();
  });
});

function mount() {
  const drawn: string[] = [];
  const keys = new PassThrough({ objectMode: true });
  const stdin = new FakeStdin();
  const screen = mountInkScreen({
    stdin: stdin.asReadStream(),
    onFrame: (text) => drawn.push(text),
    onKey: (input) => keys.write(input),
  });
  screens.push(screen);
  return { screen, drawn, keys, stdin };
}

const frame = (pods: readonly string[], footer: readonly string[]): Frame => ({
  columns: 10,
  rows: pods.length + footer.length,
  sections: [
    { name: 'pods', rows: pods },
    { name: 'footer', rows: footer },
  ],
});

test('ink draws the rows of all sections, in their styles and at once', () => {
  const { screen, drawn } = mount();
  screen.draw(frame(['\u001b[1;31mweb\u001b[0m 1/1', '', '\u001b[7mdb 日本   \u001b[0m'], ['q leave']));
  expect(drawn).toEqual(['\u001b[1m\u001b[31mweb\u001b[39m\u001b[22m 1/1\n\n\u001b[7mdb 日本   \u001b[27m\nq leave']);
});

test('a frame of another size has its rows, and no others', () => {
  const { screen, drawn } = mount();
  screen.draw(frame(['web', 'db', 'etcd'], ['q leave']));
  screen.draw({ ...frame(['0123456789012345'], ['q']), columns: 16 });
  expect(drawn).toEqual(['web\ndb\netcd\nq leave', '0123456789012345\nq']);
});

test('the same frame is shown again', () => {
  const { screen, drawn } = mount();
  screen.draw(frame(['\u001b[0mweb'], ['q leave']));
  screen.draw(frame(['\u001b[0mweb'], ['q leave']));
  expect(drawn).toEqual(['web\nq leave', 'web\nq leave']);
});

test('ink keeps the texts and styles of any row', () => {
  const { screen, drawn } = mount();
  const style = fc.constantFrom('', '1', '7', '1;31', '38;5;22', '1;7');
  const piece = fc
    .tuple(fc.string({ unit: 'grapheme', maxLength: 12 }).map(printable), style)
    .map(([text, parameters]) => `\u001b[${parameters}m${text}\u001b[0m`);
  const row = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(row, (text) => {
      screen.draw({ ...frame([text], ['q leave']), columns: 200 });
      expect(rowOf(drawn.at(-1)?.split('\n')[0] ?? '')).toEqual(rowOf(text));
    }),
    propertyRuns(200),
  );
});

test('keys are read only while the screen listens, in raw mode', async () => {
  const { screen, keys, stdin } = mount();
  screen.draw(frame(['web'], ['q leave']));
  expect(stdin.isRaw).toBe(false);
  screen.listen(true);
  await stdin.ready();
  stdin.write('j');
  expect([stdin.isRaw, await once(keys, 'data')]).toEqual([true, ['j']]);
  screen.listen(false);
  await stdin.cooked();
  expect(stdin.isRaw).toBe(false);
});
