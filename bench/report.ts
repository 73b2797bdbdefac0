import { floor, type Summary } from './figures.ts';

/** The figures of a run, and what they were measured on. */
export interface Report {
  /** Such as `2026-01-31`. */
  date: string;
  /** Hardware and programs, in the order in which the page lists them. */
  machine: readonly string[];
  runs: number;
  figures: readonly Summary[];
  /** Figures of programs that may be missing here, from an earlier run. */
  recorded: readonly Recorded[];
  /** What others state of the memory of a box. */
  stated: readonly Stated[];
  /** Names of all measures. */
  measures: readonly string[];
}

/** Figures of a program from another run of the bench. */
export interface Recorded {
  who: string;
  /** How they were measured, as a sentence. */
  how: string;
  /** Each with the floor of that run if the quantity has one, because only ratios can be compared. */
  figures: readonly { what: string; median: number; unit: string; floor?: number }[];
}

/** A statement of others, with its source. */
export interface Stated {
  who: string;
  /** What was measured, and how, as far as they say. */
  memory: string;
  source: string;
}

/** Measures of a report. The others compare parts of the agent with each other. */
export const reportMeasures = ['one', 'init', 'many', 'boot', 'scrape', 'run-once', 'box', 'scale'];

const ours = 'kubelet-ts';

/** Returns the page as Markdown. */
export function performancePage(report: Report): string {
  const table = reportTable(report);
  return `# Performance

To measure this machine, run the bench. It compares the agent with the floor, which is the same calls made directly over the CRI:

\`\`\`console
$ npm run bench -- --only one
$ npm run bench -- --containerd 1.6,2 --json figures.json    # on these releases, one after the other
$ npm run bench -- --agent 'COMMAND'                         # any other agent in the same run
$ npm run bench -- --report                                  # writes this page
\`\`\`

It prints medians, spread and ratios. \`--only\` accepts ${report.measures.map((name) => `\`${name}\``).join(', ')}. \`--runs N\`
repeats each measurement. \`box\` measures a managed containerd, which starts without images. \`services\` changes the endpoints of
100 Services and flushes their rules; its floor is \`iptables-restore\`. \`scale\` uses a runtime in memory and prints the exponent with
which costs grow; \`--sizes 125,250\` sets its numbers of pods. \`--podman PATH\` also measures \`podman kube play\`, and \`--help\` shows
the command for a kubelet.

![The times as multiples of the floor](performance.svg)

Numbers in parentheses are multiples of the floor. The same machine can be twice as fast on another day, so compare them, not times.

${markdownTable(table)}

Medians of at most ${report.runs} runs on ${report.date}. One pod is one busybox container on the host network.

${report.machine.map((part) => `- ${part}`).join('\n')}
${shownRecords(report)
  .map(({ who, how }) => `- ${who}: ${how}`)
  .join('\n')}
${statedSection(report)}`;
}

/** Only next to figures of our own. */
function statedSection({ figures, stated }: Report): string {
  if (!figures.some(({ what }) => what.startsWith('memory (PSS)'))) return '';
  return `
## Memory of others

PSS counts shared pages in parts, so figures add up. Containers of pods are not in it. Others measure in other ways:

${stated.map(({ who, memory, source }) => `- ${who}: ${memory} ([source](${source}))`).join('\n')}
`;
}

/** The columns of a table and its rows. A cell is undefined if it was not measured. */
interface ReportTable {
  columns: string[];
  rows: { what: string; cells: (Cell | undefined)[] }[];
}

interface Cell {
  text: string;
  /** The median as a multiple of the floor. */
  ratio: number | undefined;
}

/** All quantities that were measured of our agent. The floor comes first, and our agent last. */
function reportTable(report: Report): ReportTable {
  const records = shownRecords(report);
  const quantities = report.figures.filter(({ who }) => who === ours).map(({ what }) => what);
  const figures = report.figures.filter(({ what }) => quantities.includes(what));
  const others = new Set(figures.map(({ who }) => who).filter((who) => who !== floor && who !== ours));
  const measured = [floor, ...others, ours];
  const rows = quantities.map((what) => {
    const cellOf = (who: string): Cell | undefined => measuredCell(figures, what, who);
    const [lowest, ...rest] = measured.map(cellOf);
    return { what, cells: [lowest, ...records.map((record) => recordedCell(record, what)), ...rest] };
  });
  return { columns: [floor, ...records.map(({ who }) => who), ...others, ours], rows };
}

/** Without the programs that this run has measured itself. */
function shownRecords({ figures, recorded }: Report): readonly Recorded[] {
  return recorded.filter(({ who }) => !figures.some((figure) => figure.who === who.split(' ')[0]));
}

function measuredCell(figures: readonly Summary[], wanted: string, who: string): Cell | undefined {
  const figure = figures.find((each) => each.what === wanted && each.who === who);
  if (figure === undefined) return undefined;
  const { median, unit, ratio } = figure;
  const amount = `${numberText(median)} ${unit}`;
  return { text: ratio === undefined ? amount : `${amount} (${ratio.toFixed(2)})`, ratio: who === floor ? 1 : ratio };
}

function recordedCell({ figures }: Recorded, wanted: string): Cell | undefined {
  const figure = figures.find(({ what }) => what === wanted);
  if (figure === undefined) return undefined;
  const ratio = figure.floor === undefined ? undefined : figure.median / figure.floor;
  return { text: ratio === undefined ? `${numberText(figure.median)} ${figure.unit}` : `(${ratio.toFixed(2)})`, ratio };
}

const numberText = (value: number): string =>
  value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US');

function markdownTable({ columns, rows }: ReportTable): string {
  const lines = [
    ['', ...columns],
    ['', ...columns].map(() => '---'),
    ...rows.map(({ what, cells }) => [what, ...cells.map((cell) => cell?.text ?? '')]),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const barHeight = 16;
const groupGap = 30;
const labelWidth = 110;
const width = 760;
/** Mid-tones, because the picture has the background of its reader. */
const colors = { text: '#768390', floor: '#8b949e', ours: '#2f81f7', others: ['#bf8700', '#8957e5', '#1a7f37'] };

/** Returns the bars of all quantities that have a floor as an SVG. */
export function performancePicture(report: Report): string {
  const { columns, rows } = reportTable(report);
  const groups = rows.flatMap(({ what, cells }) => {
    const bars = columns.flatMap((who, column) => {
      const ratio = cells[column]?.ratio;
      return ratio === undefined ? [] : [{ who, ratio, color: colorOf(who, column) }];
    });
    return bars.some(({ who }) => who === floor) ? [{ what, bars }] : [];
  });
  const most = Math.max(1, ...groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio)));
  const perFloor = (width - labelWidth - 60) / most;
  let y = 0;
  const parts = groups.flatMap(({ what, bars }) => {
    y += groupGap;
    const title = `<text x="0" y="${y - 8}" font-weight="bold">${what}</text>`;
    return [title, ...bars.map((bar) => barOf(bar, perFloor, (y += barHeight) - barHeight))];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 8}" width="${width}" height="${y + 8}"`,
    ` font-family="system-ui,sans-serif" font-size="13" fill="${colors.text}">\n`,
    ...parts.map((part) => `${part}\n`),
    '</svg>\n',
  ].join('');
}

interface Bar {
  who: string;
  ratio: number;
  color: string;
}

function colorOf(who: string, column: number): string {
  if (who === floor) return colors.floor;
  return who === ours ? colors.ours : (colors.others[(column - 1) % colors.others.length] ?? colors.text);
}

function barOf({ who, ratio, color }: Bar, perFloor: number, y: number): string {
  const length = ratio * perFloor;
  return [
    `<text x="0" y="${y + 11}">${who}</text>`,
    `<rect x="${labelWidth}" y="${y + 1}" width="${length.toFixed(0)}" height="${barHeight - 3}" fill="${color}"/>`,
    `<text x="${(labelWidth + length + 6).toFixed(0)}" y="${y + 11}">${ratio.toFixed(2)}</text>`,
  ].join('');
}
