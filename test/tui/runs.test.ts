import { expect, test } from 'vitest';
import { runsOf } from '../../src/tui/runs.ts';

test.each([
  ['a plain one', 'app 12s', [{ text: 'app 12s', style: '' }]],
  ['an empty one', '', []],
  ['blanks at the end', 'app   ', [{ text: 'app   ', style: '' }]],
  [
    'styled blanks at the end',
    '\u001b[7mapp  \u001b[27m  ',
    [
      { text: 'app  ', style: '7' },
      { text: '  ', style: '' },
    ],
  ],
  [
    'sequences of several parameters',
    'a \u001b[1;38;5;22mRunning\u001b[0m b',
    [
      { text: 'a ', style: '' },
      { text: 'Running', style: '1;38;5;22' },
      { text: ' b', style: '' },
    ],
  ],
  [
    'sequences that end one style each',
    '\u001b[31m\u001b[1mE\u001b[7mr\u001b[22mr\u001b[39mo\u001b[27mr',
    [
      { text: 'E', style: '1;31' },
      { text: 'r', style: '1;7;31' },
      { text: 'r', style: '7;31' },
      { text: 'o', style: '7' },
      { text: 'r', style: '' },
    ],
  ],
  ['a style that ends and begins again', '\u001b[32mO\u001b[m\u001b[32mk\u001b[0m', [{ text: 'Ok', style: '32' }]],
])('the runs of %s', (_title, text, expected) => {
  expect(runsOf(text)).toEqual(expected);
});
