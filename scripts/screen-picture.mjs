// Draws the last frame of an asciicast (version 2) as an SVG: screen-picture.mjs dark|light < CAST > SVG
// Supports the escape sequences that the screen sends: cursor positions, erasures and colours.
import { readFileSync } from 'node:fs';

const themes = {
  dark: {
    background: '#0d1117',
    text: '#d1d7e0',
    colours: ['#484f58', '#ff7b72', '#3fb950', '#d29922', '#58a6ff', '#bc8cff', '#39c5cf', '#b1bac4'],
    bright: ['#8b949e', '#ffa198', '#56d364', '#e3b341', '#79c0ff', '#d2a8ff', '#56d4dd', '#ffffff'],
  },
  light: {
    background: '#ffffff',
    text: '#1f2328',
    colours: ['#24292f', '#cf222e', '#116329', '#9a6700', '#0969da', '#8250df', '#1b7c83', '#6e7781'],
    bright: ['#57606a', '#a40e26', '#1a7f37', '#633c01', '#218bff', '#a475f9', '#3192aa', '#8c959f'],
  },
};
// eslint-disable-next-line no-control-regex -- a terminal is made of these
const sequences = /\u001b\[([?\d;]*)([A-Za-z])|\u001b.|[^\u001b]/gu;
const theme = themes[process.argv[2]];
const [columnWidth, rowHeight, padding] = [8.4, 18, 12];

const [header, ...events] = readFileSync(0, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));
const { width, height } = header;
const output = events.map(([, , text]) => text).join('');
const end = output.lastIndexOf('\u001b[?1049l');
const rows = drawn(end < 0 ? output : output.slice(0, end));
process.stdout.write(svg(rows));

/** Returns rows of cells, each a character with its style. */
function drawn(text) {
  const cells = Array.from({ length: height }, () => []);
  let [row, column, style] = [0, 0, {}];
  for (const [character, parameters = '', command] of text.matchAll(sequences)) {
    const [first = 0, second = 0] = parameters.split(';').map(Number);
    if (command === 'H') [row, column] = [Math.max(first - 1, 0), Math.max(second - 1, 0)];
    else if (command === 'J') cells.forEach((line) => line.splice(0));
    else if (command === 'K') cells[row]?.splice(column);
    else if (command === 'm') style = styled(style, parameters);
    else if (character === '\r') column = 0;
    else if (character === '\n') row += 1;
    else if (command === undefined && !character.startsWith('\u001b'))
      cells[row]?.splice(column, 1, ...blanks(cells[row], column++), { character, style });
  }
  return cells;
}

function blanks(line, column) {
  while (line.length < column) line.push({ character: ' ', style: {} });
  return [];
}

/** Returns the style after the parameters of a colour sequence (SGR). */
function styled(before, parameters) {
  const style = { ...before };
  const codes = parameters.split(';').map(Number);
  while (codes.length > 0) {
    const code = codes.shift();
    if (code === 0) Object.keys(style).forEach((key) => delete style[key]);
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 7) style.inverse = true;
    else if (code === 27) style.inverse = false;
    else if (code === 39) style.colour = undefined;
    else if (code === 49) style.background = undefined;
    else if (code === 38 || code === 48) style[code === 38 ? 'colour' : 'background'] = longColour(codes);
    else if (code >= 30 && code <= 37) style.colour = theme.colours[code - 30];
    else if (code >= 90 && code <= 97) style.colour = theme.bright[code - 90];
    else if (code >= 40 && code <= 47) style.background = theme.colours[code - 40];
    else if (code >= 100 && code <= 107) style.background = theme.bright[code - 100];
  }
  return style;
}

/** Returns one of 256 colours, or one of three bytes. Removes its codes from the list. */
function longColour(codes) {
  if (codes.shift() === 2) return `rgb(${codes.splice(0, 3).join(',')})`;
  const index = codes.shift();
  if (index < 8) return theme.colours[index];
  if (index < 16) return theme.bright[index - 8];
  if (index >= 232)
    return `rgb(${Array(3)
      .fill(8 + 10 * (index - 232))
      .join(',')})`;
  const level = (value) => (value === 0 ? 0 : 55 + 40 * value);
  const cube = index - 16;
  return `rgb(${[Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level).join(',')})`;
}

function svg(lines) {
  const size = [width * columnWidth + 2 * padding, height * rowHeight + 2 * padding];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.join(' ')}" width="${size[0]}" height="${size[1]}"`,
    ' font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">\n',
    `<rect width="100%" height="100%" rx="8" fill="${theme.background}"/>\n`,
    ...lines.map((line, row) => textOf(line, row)),
    '</svg>\n',
  ].join('');
}

/** Returns a row with a text element for each run of cells that have the same style. */
function textOf(line, row) {
  const runs = [];
  line.forEach(({ character, style }, column) => {
    const last = runs.at(-1);
    if (last && JSON.stringify(last.style) === JSON.stringify(style)) last.text += character;
    else runs.push({ text: character, style, column });
  });
  return runs.map((run) => runOf(run, row)).join('');
}

function runOf({ text, style, column }, row) {
  const x = padding + column * columnWidth;
  const y = padding + row * rowHeight;
  const [colour, background] = style.inverse
    ? [style.background ?? theme.background, style.colour ?? theme.text]
    : [style.colour ?? theme.text, style.background];
  const length = [...text].length * columnWidth;
  const box = background
    ? `<rect x="${x.toFixed(1)}" y="${y}" width="${length.toFixed(1)}" height="${rowHeight}" fill="${background}"/>`
    : '';
  if (text.trim() === '') return box === '' ? '' : `${box}\n`;
  const attributes = [
    `x="${x.toFixed(1)}" y="${y + 13}" fill="${colour}" textLength="${length.toFixed(1)}" xml:space="preserve"`,
    style.bold ? ' font-weight="bold"' : '',
    style.dim ? ' opacity="0.65"' : '',
  ].join('');
  return `${box}<text ${attributes}>${escaped(text)}</text>\n`;
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
