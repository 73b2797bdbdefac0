/** Rows of each part of the screen, from top to bottom. The help line takes one more row. */
export interface Layout {
  header: number;
  /** Header and rows of the pods table. */
  pods: number;
  /** Title and lines of the events pane. 0 if pods need its rows. */
  events: number;
  /** Title and lines of the log of the selected pod. 0 in a small terminal. */
  log: number;
  /** Title and lines of the problems pane. 0 if there are no problems. */
  problems: number;
  /** Pods, events, log and problems together, which details and help replace. */
  body: number;
}

export type Pane = 'pods' | 'events' | 'problems';

/** The smallest terminal with a useful screen. */
export const minimumSize = { columns: 40, rows: 10 };

/** The smallest terminal that also shows the log of the selected pod. */
const largeSize = { columns: 120, rows: 40 };

/**
 * Divides the rows of the terminal. Pods come first, unless another pane is active. Events get the rest. In a large
 * terminal, events and the log share at least half of the rows.
 */
export function computeLayout(options: {
  columns: number;
  rows: number;
  header: number;
  podCount: number;
  /** Pods with a reason, which gets its own row if all of them fit. */
  reasonCount: number;
  problemLineCount: number;
  pane: Pane;
}): Layout {
  const body = Math.max(0, options.rows - options.header - 1);
  const most = Math.floor(body * 0.6);
  const problemsLimit = options.pane === 'problems' ? most : Math.max(2, Math.floor(body / 4));
  const problems = options.problemLineCount === 0 ? 0 : Math.min(1 + options.problemLineCount, problemsLimit);
  const isLarge = options.columns >= largeSize.columns && options.rows >= largeSize.rows;
  const half = isLarge ? Math.floor((body - problems) / 2) : 0;
  const eventsAtLeast = options.pane === 'events' ? Math.max(3, most - problems) : half;
  const mostPods = body - problems - eventsAtLeast;
  const podsWanted = 1 + Math.max(1, options.podCount);
  const withReasons = podsWanted + options.reasonCount;
  const pods = Math.max(2, withReasons <= mostPods ? withReasons : Math.min(podsWanted, mostPods));
  const rest = Math.max(0, body - problems - pods);
  const log = isLarge ? Math.floor(rest / 2) : 0;
  // A title without lines would show nothing.
  return { header: options.header, pods, events: rest < 2 ? 0 : rest - log, log, problems, body };
}
