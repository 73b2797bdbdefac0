import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { chosenTheme } from '../../src/commands/run/theme-option.ts';
import { queryTheme, paletteOf, themeOfVariable, themes } from '../../src/tui/theme.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeStdin, FakeStdout } from './fake-terminal.ts';

test.each([
  ['0;15', 'light'],
  ['0;default;15', 'light'],
  ['12;8', 'dark'],
  ['15;0', 'dark'],
  ['15;default', undefined],
  [undefined, undefined],
])('COLORFGBG %s is %s', (text, theme) => {
  expect(themeOfVariable(text)).toBe(theme);
});

test('auto is the theme of COLORFGBG, and asks the terminal without it', () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const chosen = themes.map((theme) => {
    vi.stubEnv('COLORFGBG', '0;15');
    const withVariable = chosenTheme(theme);
    vi.stubEnv('COLORFGBG', '');
    return [theme, withVariable, chosenTheme(theme)];
  });
  expect(chosen).toEqual([
    ['auto', 'light', 'auto'],
    ['dark', 'dark', 'dark'],
    ['light', 'light', 'light'],
  ]);
});

test('a light terminal has dark colors, of 256 if it has them', () => {
  const colors = (most: number) => ({ hasColors: (count = 16) => count <= most });
  expect([
    paletteOf('dark', colors(256))?.yellow,
    paletteOf('light', colors(256))?.yellow,
    paletteOf('light', colors(16))?.yellow,
    paletteOf('light', colors(0)),
  ]).toEqual(['33', '38;5;94', '35', undefined]);
});

async function ask(...answers: string[]) {
  const stdin = new FakeStdin();
  const stdout = new FakeStdout(80, 24);
  const clock = new FakeClock();
  const asked = queryTheme({ stdin: stdin.asReadStream(), stdout, clock });
  expect(stdout.writes).toEqual(['\u001b]11;?\u001b\\\u001b[c']);
  for (const answer of answers) {
    stdin.write(answer);
    await once(stdin, 'readable');
  }
  await clock.advance(1500);
  const theme = await asked;
  return { theme, keys: String(stdin.read() ?? ''), listeners: stdin.listenerCount('readable') };
}

test.each([
  ['\u001b]11;rgb:ffff/ffff/ffff\u001b\\\u001b[?62;4c', 'light'],
  ['\u001b]11;rgb:1c/1c/1c\u0007\u001b[?1;2c', 'dark'],
  ['\u001b]11;rgba:fdfd/f6f6/e3e3/ffff\u0007\u001b[?6c', 'light'],
  ['\u001b[?62c', undefined],
])('a terminal that answers %j is %s', async (answer, theme) => {
  expect(await ask(answer)).toEqual({ theme, keys: '', listeners: 0 });
});

test('an answer in pieces is read, and keys around it stay', async () => {
  expect(await ask('j\u001b]11;rgb:ff', 'ff/ffff/ffff\u0007\u001b[?', '62ck')).toEqual({
    theme: 'light',
    keys: 'jk',
    listeners: 0,
  });
});

test('a terminal without an answer is given up', async () => {
  expect(await ask('j')).toEqual({ theme: undefined, keys: 'j', listeners: 0 });
});
