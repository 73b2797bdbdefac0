import { parseGoInt } from '../../api/values/go-numbers.ts';
import { goQuote } from '../../api/values/go-quote.ts';
import { parseRfc3339Ms } from '../../api/values/time.ts';
import { errorMessage } from '../../errors.ts';
import { type LogFolder, logFileProblem } from './log-file-problem.ts';

/** A query for system logs. */
export interface LogQuery {
  services: string[];
  /** Paths below the folder of the logs. */
  files: string[];
  sinceTime?: Date;
  untilTime?: Date;
  /** `untilTime` as the client wrote it. */
  untilText?: string;
  tailLines?: number;
  boot?: number;
  pattern?: string;
}

const maxTailLines = 100_000;
const maxServiceLength = 256;
const maxServices = 4;

/**
 * The query of a request. Returns undefined if it has none. Returns `problems` for invalid parts. kubelet:
 * kubelet_server_journal.go newNodeLogQuery
 */
export function parseLogQuery(query: URLSearchParams): LogQuery | { problems: string[] } | undefined {
  const problems: string[] = [];
  const asked = query.getAll('query');
  const files = asked.filter((name) => /[/\\]/.test(name));
  const services = asked.filter((name) => !/[/\\]/.test(name) && name.trim() !== '');
  if (asked.length > 0 && files.length + services.length === 0) {
    problems.push(invalid('query', goList(asked), 'query cannot be empty'));
  }
  const time = (name: string): Date | undefined => {
    const text = query.get(name) ?? '';
    if (text === '') return undefined;
    const at = parseRfc3339Ms(text);
    if (at !== undefined) return new Date(at);
    problems.push(invalid(name, goQuote(text), 'invalid time format'));
    return undefined;
  };
  const integer = (name: string): number | undefined => {
    const text = query.get(name) ?? '';
    if (text === '') return undefined;
    try {
      return parseGoInt(text);
    } catch (error) {
      problems.push(invalid(name, goQuote(text), errorMessage(error)));
      return undefined;
    }
  };
  const options = {
    sinceTime: time('sinceTime'),
    untilTime: time('untilTime'),
    boot: integer('boot'),
    tailLines: integer('tailLines'),
    pattern: query.get('pattern') === '' ? undefined : (query.get('pattern') ?? undefined),
  };
  if (problems.length > 0) return { problems };
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  if (asked.length === 0 && Object.keys(given).length === 0) return undefined;
  return { services, files, ...given, ...(options.untilTime && { untilText: query.get('untilTime') ?? '' }) };
}

/** Why the query is refused; empty if it is not. kubelet: kubelet_server_journal.go nodeLogQuery.validate */
export async function logQueryProblems(query: LogQuery, folder: LogFolder): Promise<string[]> {
  const { services, files, sinceTime, untilTime, untilText = '', boot, tailLines, pattern } = query;
  const [file] = files;
  const problems = services.flatMap(serviceProblem);
  if (services.length > maxServices) {
    problems.push(`query: Too many: ${services.length}: must have at most ${maxServices} items`);
  }
  if (files.length + services.length === 0) problems.push('query: Required value: cannot be empty with options');
  else if (files.length > 0 && services.length > 0) {
    problems.push(invalid('query', goQuote(`[${files.join(' ')}], [${services.join(' ')}]`), bothAsked));
  } else if (files.length > 1) problems.push(invalid('query', goList(files), 'cannot specify more than one file'));
  else if (file !== undefined && hasOptions(query)) {
    problems.push(invalid('query', goList(files), 'cannot specify file with options'));
  } else if (file !== undefined) {
    const problem = await logFileProblem(file, folder);
    if (problem !== undefined) problems.push(invalid('query', goList(files), problem));
  }
  if (sinceTime !== undefined && untilTime !== undefined && sinceTime > untilTime) {
    problems.push(invalid('untilTime', untilText, 'must be after `sinceTime`'));
  }
  if (boot !== undefined && boot > 0) problems.push(invalid('boot', String(boot), 'must be less than 1'));
  if (tailLines !== undefined && (tailLines < 0 || tailLines > maxTailLines)) {
    problems.push(invalid('tailLines', String(tailLines), `must be between 0 and ${maxTailLines}, inclusive`));
  }
  if (pattern !== undefined && isBrokenRegexp(pattern)) {
    problems.push(invalid('pattern', goQuote(pattern), 'error parsing regexp'));
  }
  return problems;
}

/** True for a query of more than names. */
export function hasOptions({ sinceTime, untilTime, boot, tailLines, pattern }: LogQuery): boolean {
  return [sinceTime, untilTime, boot, tailLines, pattern].some((option) => option !== undefined);
}

const bothAsked = 'cannot specify a file and service';

function serviceProblem(service: string): string[] {
  const reason =
    service.length > maxServiceLength
      ? 'length must be less than 100'
      : /[^a-zA-Z\-_.:0-9@]/.test(service)
        ? 'input contains unsupported characters'
        : undefined;
  return reason === undefined ? [] : [invalid('query', goQuote(service), reason)];
}

/** Quoted texts, escapes and classes, in which a bracket is a character. A class may begin with its end. */
const literalPart = /\\Q.*?(?:\\E|$)|\\.|\[(?:\^|(?!\^))(?:\]|(?!\]))(?:\[:\w+:\]|\\.|[^\]\\])*\]/gs;

/** Mistakes of brackets, and repetitions of nothing. The journal finds others. */
function isBrokenRegexp(pattern: string): boolean {
  const rest = pattern.replaceAll(literalPart, 'a');
  if (/[[\\]|^[*+?]|\|[*+?]|\([*+]/.test(rest)) return true;
  let depth = 0;
  for (const [bracket] of rest.matchAll(/[()]/g)) {
    depth += bracket === '(' ? 1 : -1;
    if (depth < 0) return true;
  }
  return depth > 0;
}

const invalid = (field: string, value: string, reason: string): string =>
  `${field}: Invalid value: ${value}: ${reason}`;

const goList = (values: readonly string[]): string => `[]string{${values.map(goQuote).join(', ')}}`;

/** Several problems as one text. kubelet: apimachinery/pkg/util/errors aggregate.Error */
export function aggregateText(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}
