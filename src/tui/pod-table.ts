import type { EngineSnapshot, PodSnapshot } from '../engine/view/snapshot.ts';
import { displayWidth, fitToWidth } from '../text/display-width.ts';
import type { Line, Span } from './line.ts';
import { podRow, type PodRow } from './pod-row.ts';
import type { UsageHistories } from './usage-history.ts';

interface Column {
  title: string;
  cell: keyof PodRow;
  /** Maximum width. */
  maxWidth: number;
  /** Width down to which it shrinks before other columns are dropped. */
  minWidth?: number;
  /** Share of the table that it keeps before other columns are dropped. */
  minShare?: number;
  /** True to leave the column out while every cell is empty. */
  isOptional?: boolean;
  /** `engine` for columns of the page of the engine, `both` for columns of both tables. */
  table?: 'engine' | 'both';
  /** Columns with the lowest number are kept first. A column without a number always stays. */
  dropOrder?: number;
}

const columnsInOrder: Column[] = [
  { title: 'NAMESPACE', cell: 'namespace', maxWidth: 20, dropOrder: 4, table: 'both' },
  { title: 'NAME', cell: 'name', maxWidth: 63, minWidth: 12, minShare: 0.25, table: 'both' },
  { title: 'READY', cell: 'ready', maxWidth: 5 },
  { title: 'STATUS', cell: 'status', maxWidth: 38, minWidth: 'CrashLoopBackOff'.length },
  { title: 'RESTARTS', cell: 'restarts', maxWidth: 28, dropOrder: 2 },
  { title: 'AGE', cell: 'age', maxWidth: 9, dropOrder: 3 },
  { title: 'CPU', cell: 'cpu', maxWidth: 15, dropOrder: 5, isOptional: true },
  { title: 'MEMORY', cell: 'memory', maxWidth: 15, dropOrder: 6, isOptional: true },
  { title: 'WORKER', cell: 'worker', maxWidth: 13, dropOrder: 7, table: 'engine' },
  { title: 'LAST SYNC', cell: 'lastSync', maxWidth: 60, minWidth: 14, dropOrder: 9, table: 'engine' },
  { title: 'NEXT', cell: 'next', maxWidth: 5, dropOrder: 8, table: 'engine' },
  { title: 'REASON', cell: 'reason', maxWidth: 200, minWidth: 20, dropOrder: 1, isOptional: true },
];
const selectedMark = '> ';
const unselectedMark = '  ';

/** From this width on, RESTARTS includes the time, and columns are two spaces apart. */
const wideFrom = 110;

interface TableOptions {
  node: EngineSnapshot;
  usages: UsageHistories;
  now: number;
  columns: number;
  height: number;
  selectedUID: string | undefined;
  focused: boolean;
  /** True for the columns of the engine: worker, last and next sync. */
  isOfEngine: boolean;
}

/** True if reasons are a column. In a narrower terminal they have their own rows, if all of them fit. */
export const hasReasonColumn = ({ columns }: { columns: number }): boolean => columns >= reasonColumnFrom;

const reasonColumnFrom = 160;

/** The pods table: a header and at most `height - 1` rows around the selected pod. */
export function podTable(pods: readonly PodSnapshot[], options: TableOptions): Line[] {
  const selectedIndex = pods.findIndex((entry) => entry.pod.metadata.uid === options.selectedUID);
  const visibleCount = Math.max(0, options.height - 1);
  const first = firstVisible(selectedIndex, pods.length, visibleCount);
  const rows = pods
    .slice(first, first + visibleCount)
    .map((entry) => podRow(entry, { ...options, usage: options.usages[entry.pod.metadata.uid] }));
  const isWide = options.columns >= wideFrom;
  const gapWidth = isWide ? 2 : 1;
  const gap = ' '.repeat(gapWidth);
  const reasonCount = rows.filter(({ reason }) => reason.text !== '').length;
  const hasRowsOfReasons =
    !options.isOfEngine && !hasReasonColumn(options) && rows.length + reasonCount <= visibleCount;
  const width = options.columns - selectedMark.length;
  const columns = computeColumns(rows, { width, gapWidth, isWide, ...options, hasReasons: !hasRowsOfReasons });
  const head: Line = {
    spans: [
      { text: unselectedMark },
      { text: columns.map(({ title, width }) => fitToWidth(title, width)).join(gap), bold: options.focused },
    ],
  };
  const visible = rows.flatMap((row, index): Line[] => {
    const selected = first + index === selectedIndex;
    const cells = columns.flatMap(({ cell, width }, column): Span[] => [
      { text: column === 0 ? '' : gap },
      { ...row[cell], text: fitToWidth(row[cell].text, width) },
    ]);
    const line = { spans: [{ text: selected ? selectedMark : unselectedMark }, ...cells], selected };
    return hasRowsOfReasons && row.reason.text !== '' ? [line, reasonLine(row)] : [line];
  });
  return [head, ...visible];
}

const reasonLine = ({ reason }: PodRow): Line => ({ spans: [{ text: '    ' }, reason] });

/** The selected row stays in the middle, except near both ends. */
function firstVisible(selectedIndex: number, count: number, visibleCount: number): number {
  return Math.max(0, Math.min(selectedIndex - Math.floor(visibleCount / 2), count - visibleCount));
}

interface Space {
  width: number;
  gapWidth: number;
  isWide: boolean;
}

interface SizedColumn extends Column {
  width: number;
  leastWidth: number;
}

/** Selects the columns that fit, and their widths: first the minimum of each, then the rest from left to right. */
function computeColumns(
  rows: PodRow[],
  { width, gapWidth, isWide, isOfEngine, hasReasons }: Space & { isOfEngine: boolean; hasReasons: boolean },
): SizedColumn[] {
  const filled = columnsInOrder.filter(
    ({ cell, isOptional = false, table }) =>
      (table === 'both' || (table === 'engine') === isOfEngine) &&
      (cell !== 'reason' || hasReasons) &&
      (!isOptional || rows.some((row) => row[cell].text !== '')),
  );
  const wanted = filled.map((column): SizedColumn => {
    const cell = column.cell === 'restarts' && !isWide ? 'restartCount' : column.cell;
    const naturalWidth = Math.max(column.title.length, ...rows.map((row) => displayWidth(row[cell].text)));
    const wantedWidth = Math.min(naturalWidth, column.maxWidth);
    const minWidth = Math.max(column.minWidth ?? wantedWidth, Math.floor(width * (column.minShare ?? 0)));
    return { ...column, cell, width: wantedWidth, leastWidth: Math.min(wantedWidth, minWidth) };
  });
  const kept = fittingColumns(wanted, width, gapWidth);
  let rest = Math.max(0, width - leastTotal(kept, gapWidth));
  return kept.map((column) => {
    const grown = Math.min(column.width, column.leastWidth + rest);
    rest -= grown - column.leastWidth;
    return { ...column, width: grown };
  });
}

/** Chooses columns in the order of their importance while they fit. */
function fittingColumns(columns: SizedColumn[], width: number, gapWidth: number): SizedColumn[] {
  const kept: SizedColumn[] = [];
  for (const column of columns.toSorted((a, b) => (a.dropOrder ?? 0) - (b.dropOrder ?? 0))) {
    if (column.dropOrder === undefined || leastTotal([...kept, column], gapWidth) <= width) kept.push(column);
  }
  return columns.filter((column) => kept.includes(column));
}

function leastTotal(columns: SizedColumn[], gapWidth: number): number {
  return columns.reduce((sum, column) => sum + column.leastWidth, 0) + gapWidth * (columns.length - 1);
}
