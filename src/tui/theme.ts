import type { Clock } from '../clock.ts';

/** Colors for a dark or a light background. `auto` queries the terminal. */
export const themes = ['auto', 'dark', 'light'] as const;
export type Theme = (typeof themes)[number];

export type Color = 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'gray';

/** Parameters of the terminal's sequence for each color. */
export type Palette = Readonly<Record<Color, string>>;

/** Colors of the terminal's own palette. */
const dark: Palette = { red: '31', green: '32', yellow: '33', blue: '34', magenta: '35', cyan: '36', gray: '90' };
/** Dark ones of the 256 colors, because yellow, cyan and green of most palettes are hard to read on white. */
const light: Palette = {
  red: '38;5;124',
  green: '38;5;22',
  yellow: '38;5;94',
  blue: '38;5;19',
  magenta: '38;5;90',
  cyan: '38;5;24',
  gray: '38;5;242',
};
/** For a light terminal with 16 colors. */
const lightOfFew: Palette = { ...dark, yellow: '35', cyan: '34' };

/** The colors for a terminal. Returns undefined for one without. */
export function paletteOf(
  theme: Exclude<Theme, 'auto'>,
  terminal: { hasColors(count?: number): boolean },
): Palette | undefined {
  if (!terminal.hasColors()) return undefined;
  if (theme === 'dark') return dark;
  return terminal.hasColors(256) ? light : lightOfFew;
}

/** The theme from the variable COLORFGBG, such as `0;15`, which some terminals set. Returns undefined without it. */
export function themeOfVariable(text: string | undefined): Exclude<Theme, 'auto'> | undefined {
  const background = /^\d+;(?:\w+;)?(\d+)$/.exec(text ?? '')?.[1];
  if (background === undefined) return undefined;
  return ['7', '9', '10', '11', '12', '13', '14', '15'].includes(background) ? 'light' : 'dark';
}

/** The request for the background color, then a request that every terminal answers, which stops the wait. */
const question = '\u001b]11;?\u001b\\\u001b[c';
// eslint-disable-next-line no-control-regex -- answers of a terminal
const colorAnswer = /\u001b\]11;rgba?:([\da-f]+)\/([\da-f]+)\/([\da-f]+)[^\u0007\u001b]*(?:\u0007|\u001b\\)/i;
// eslint-disable-next-line no-control-regex -- answers of a terminal
const lastAnswer = /\u001b\[\?[\d;]*c/;
/** A link of 300 ms needs twice that. */
const answerMs = 1500;

interface QueryDeps {
  stdin: NodeJS.ReadStream;
  stdout: { write(text: string): boolean };
  clock: Pick<Clock, 'after'>;
}

/**
 * Queries the terminal, in raw mode, for its background. Keys that are typed meanwhile stay in `stdin`. Resolves with
 * undefined for a terminal that does not answer in time.
 */
export async function queryTheme({ stdin, stdout, clock }: QueryDeps): Promise<Exclude<Theme, 'auto'> | undefined> {
  let text = '';
  await new Promise<void>((resolve) => {
    const end = (): void => {
      cancel();
      stdin.off('readable', onReadable);
      resolve();
    };
    const onReadable = (): void => {
      text += String(stdin.read() ?? '');
      if (lastAnswer.test(text)) end();
    };
    const cancel = clock.after(answerMs, end);
    stdin.on('readable', onReadable);
    stdout.write(question);
  });
  const color = colorAnswer.exec(text);
  const keys = text.replace(colorAnswer, '').replace(lastAnswer, '');
  if (keys !== '') stdin.unshift(Buffer.from(keys));
  return color === null ? undefined : isLight(color.slice(1)) ? 'light' : 'dark';
}

/** By the brightness of red, green and blue, each of one to four hexadecimal digits. */
function isLight(digits: readonly string[]): boolean {
  const [red = 0, green = 0, blue = 0] = digits.map((text) => Number.parseInt(text, 16) / (16 ** text.length - 1));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5;
}
