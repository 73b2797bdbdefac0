import type { ContainerResult, PodResult } from '../../node/run-once/pod-result.ts';
import { visible } from '../../text/visible-text.ts';
import { formatTable } from '../../text/format-table.ts';

/**
 * The results for people: a line for a single pod, a table for several. If container logs were interleaved, repeats the
 * last lines of those that failed.
 */
export async function resultText(results: readonly PodResult[], isLogPrefixed: boolean): Promise<string> {
  const [only, ...others] = results;
  const lines = isLogPrefixed ? results.map(lastLines).join('') : '';
  if (only === undefined || others.length > 0) return (await formatTable(resultRows(results))) + lines;
  return `${visible(`${only.pod}: ${only.outcome}${only.message === '' ? '' : `: ${only.message}`}`)}\n${lines}`;
}

function lastLines({ pod, container = '', log = '' }: PodResult, _index: number, all: readonly PodResult[]): string {
  const lines = log.split('\n').filter((line) => line !== '');
  const title = all.length > 1 && lines.length > 0 ? [`${pod}, container ${container}:\n`] : [];
  return [...title, ...lines.map((line) => `  | ${line}\n`)].join('');
}

/** A header row, and a row per pod. */
function resultRows(results: readonly PodResult[]): string[][] {
  const rows = results.map(({ pod, outcome, exitCode, containers, message }) => [
    pod,
    outcome,
    String(exitCode),
    durationText(containers),
    message,
  ]);
  return [['POD', 'RESULT', 'EXIT', 'TIME', 'MESSAGE'], ...rows];
}

/** From the first start to the last exit. Empty while a container runs, or if none exited. */
function durationText(containers: readonly ContainerResult[]): string {
  const times = (key: 'startedAt' | 'finishedAt'): number[] =>
    containers.map((container) => Date.parse(container[key] ?? '')).filter((time) => !Number.isNaN(time));
  const ends = times('finishedAt');
  if (ends.length === 0 || containers.some(({ state }) => state === 'running')) return '';
  return `${((Math.max(...ends) - Math.min(...times('startedAt'))) / 1000).toFixed(1)}s`;
}

/** The results for the summary page of a GitHub job, in Markdown. */
export function summaryMarkdown(results: readonly PodResult[]): string {
  const cell = (text: string): string => visible(text).replace(/[\\|<>`*_[\]]/g, (mark) => `\\${mark}`);
  const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |\n`;
  const [header = [], ...rows] = resultRows(results);
  // Without an empty line before it, a table would continue the one above.
  return `\n${row(header)}${row(header.map(() => '---'))}${rows.map(row).join('')}`;
}
