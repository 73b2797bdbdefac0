import { problemText } from '../../api/values/problem-text.ts';
import { errorMessage } from '../../errors.ts';
import type { ContainerResult, PodResult } from '../../node/run-once/pod-result.ts';
import { isGood } from '../../node/run-once/run-once-outcome.ts';
import { BrokenManifests } from '../../node/sources/read-manifests.ts';
import { visible } from '../../text/visible-text.ts';
import XMLBuilder from 'fast-xml-builder';

/** XML 1.0 cannot represent these characters, not even as references. */
const notXML = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

interface TestCase {
  attributes: { name: string; classname: string; time: string };
  failure?: { message: string; type: string; text?: string };
  error?: { message: string; type: string };
  skipped?: boolean;
  output: string;
}

interface Suite {
  name: string;
  cases: TestCase[];
  timeMs: number;
}

/** Milliseconds since 1970. */
interface RunTimes {
  startedAtMs: number;
  now: number;
}

/**
 * The results as JUnit XML that GitHub, GitLab and Jenkins read: a suite per pod, a test case per container. A pod
 * without containers is one case.
 */
export function junitText(results: readonly PodResult[], run: RunTimes): string {
  const suites = results.map((result) => ({
    name: result.pod,
    cases: casesOf(result),
    timeMs: result.containers.reduce((sum, container) => sum + durationMs(container), 0),
  }));
  return suitesText(suites, run);
}

/**
 * The report of a run without results. Each broken manifest is a failed case. Any other error is one case of the run.
 */
export function junitFailureText(error: unknown, run: RunTimes): string {
  const cases = error instanceof BrokenManifests ? manifestCases(error) : [errorCase(error)];
  return suitesText([{ name: runName, cases, timeMs: run.now - run.startedAtMs }], run);
}

const runName = 'kubelet-ts run-once';

function manifestCases({ problems }: BrokenManifests): TestCase[] {
  const origins = [...new Set(problems.map(({ origin }) => origin))];
  return origins.map((origin) => {
    const texts = problems.filter((problem) => problem.origin === origin).map((problem) => problemText(problem, 0));
    const failure = { message: texts[0] ?? '', type: 'BrokenManifest', text: texts.join('\n') };
    return { attributes: { name: origin, classname: 'manifest', time: seconds(0) }, failure, output: '' };
  });
}

function errorCase(error: unknown): TestCase {
  const attributes = { name: 'run-once', classname: runName, time: seconds(0) };
  return { attributes, error: { message: visible(errorMessage(error)), type: 'Error' }, output: '' };
}

function suitesText(suites: readonly Suite[], run: RunTimes): string {
  const nodes = suites.map((suite) => suiteNode(suite, run));
  const builder = new XMLBuilder({
    ignoreAttributes: false,
    format: true,
    suppressEmptyNode: true,
    // An attribute with the text `true` keeps its value.
    suppressBooleanAttributes: false,
  });
  const total = (key: 'tests' | 'failures' | 'errors'): number =>
    nodes.reduce((sum, node) => sum + Number(node[`@_${key}`]), 0);
  return builder.build({
    '?xml': { '@_version': '1.0', '@_encoding': 'UTF-8' },
    testsuites: {
      '@_name': runName,
      '@_tests': String(total('tests')),
      '@_failures': String(total('failures')),
      '@_errors': String(total('errors')),
      '@_time': seconds(run.now - run.startedAtMs),
      testsuite: nodes,
    },
  });
}

function suiteNode({ name, cases, timeMs }: Suite, { startedAtMs }: RunTimes) {
  const count = (has: (one: TestCase) => boolean): string => String(cases.filter(has).length);
  return {
    '@_name': xmlText(name),
    '@_tests': String(cases.length),
    '@_failures': count(({ failure }) => failure !== undefined),
    '@_errors': count(({ error }) => error !== undefined),
    '@_skipped': count(({ skipped }) => skipped === true),
    '@_timestamp': new Date(startedAtMs).toISOString().slice(0, 19),
    '@_time': seconds(timeMs),
    testcase: cases.map(caseNode),
  };
}

/** A pod's problem is reported in the case of the container that caused it, or otherwise in a separate case. */
function casesOf(result: PodResult): TestCase[] {
  const { pod, outcome, container: culprit, message, containers } = result;
  const cases = containers.map((container) => caseOf(result, container, container.name === culprit));
  const isExplained =
    isGood(result) || cases.some(({ failure, error }) => failure !== undefined || error !== undefined);
  if (cases.length > 0 && isExplained) return cases;
  const own: TestCase = { attributes: { name: 'pod', classname: pod, time: seconds(0) }, output: '' };
  return [...cases, isGood(result) ? own : { ...own, error: { message: message || outcome, type: outcome } }];
}

/** In a pod that succeeded nothing is a failure. Neither is a sidecar that exits with its pod. */
function caseOf(result: PodResult, container: ContainerResult, isCulprit: boolean): TestCase {
  const { pod, outcome, exitCode: podExitCode, message } = result;
  const { name, state, exitCode = 0, reason = '', log = '' } = container;
  const time = seconds(durationMs(container));
  const base: TestCase = { attributes: { name, classname: pod, time }, output: log };
  if (exitCode !== 0 && !isGood(result) && (isCulprit || container.sidecar !== true)) {
    const type = reason === '' ? 'Error' : reason;
    return { ...base, failure: { message: `container ${name} exited with code ${exitCode}`, type } };
  }
  if (isCulprit && podExitCode !== 0)
    return { ...base, error: { message: message || outcome, type: reason || outcome } };
  return state === 'waiting' ? { ...base, skipped: true } : base;
}

const problemNode = ({ message, type }: { message: string; type: string }, text: string) => ({
  '@_message': xmlText(message),
  '@_type': xmlText(type),
  '#text': xmlText(text),
});

function caseNode({ attributes, failure, error, skipped, output }: TestCase) {
  return {
    '@_name': xmlText(attributes.name),
    '@_classname': xmlText(attributes.classname),
    '@_time': attributes.time,
    ...(skipped === true && { skipped: '' }),
    ...(error !== undefined && { error: problemNode(error, output) }),
    ...(failure !== undefined && { failure: problemNode(failure, failure.text ?? output) }),
    ...(output !== '' && { 'system-out': xmlText(output) }),
  };
}

/** Zero for a container that has not exited, or whose runtime reports no times. */
function durationMs({ startedAt, finishedAt }: ContainerResult): number {
  if (startedAt === undefined || finishedAt === undefined) return 0;
  return Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)) || 0;
}

const seconds = (ms: number): string => (ms / 1000).toFixed(3);

const xmlText = (text: string): string => text.replace(notXML, '\u{fffd}');
