import type { CDIFile, Facts, HandlerFacts } from './facts.ts';
import { ok, onFact, problem, type Verdict, warning } from './finding.ts';

type DropInFacts = Required<HandlerFacts>['dropIns'];

const restart = 'Restart kubelet-ts: systemctl restart kubelet-ts';

/** Checks runtimes other than runc, from the file of containerd to the class that pods name. */
export function checkHandlers({ handlers, runtime }: Facts): Verdict[] {
  const answer = 'value' in runtime && runtime.value.kind === 'chosen' ? runtime.value.answer : undefined;
  const known = answer !== undefined && 'handlers' in answer ? answer.handlers : undefined;
  return onFact(handlers, ({ classes, dropIns }) => {
    const added = dropIns?.runtimes ?? [];
    const others = classes.filter(({ handler }) => !added.some(({ name }) => name === handler));
    return [
      ...(dropIns === undefined ? [] : judgeDropIns(dropIns)),
      ...added.flatMap((one) => judgeRuntime(one, classes, known)),
      ...others.flatMap((one) => judgeClass(one, known)),
    ];
  });
}

function judgeDropIns({ folder, logFile, refused, unknown, isLeftOut }: DropInFacts): Verdict[] {
  return [
    ...refused.map((text) => problem(text, `Correct the file. ${restart}`)),
    ...unknown.map((text) => warning(text, `Correct the key, or remove it. ${restart}`)),
    ...(isLeftOut
      ? [problem(`containerd did not start with the files in ${folder}`, `grep 'failed to load' ${logFile}`)]
      : []),
  ];
}

function judgeRuntime(
  { name, file, missing }: DropInFacts['runtimes'][number],
  classes: HandlerFacts['classes'],
  known: readonly string[] | undefined,
): Verdict[] {
  const of = classes.filter(({ handler }) => handler === name).map((one) => one.name);
  const verdicts = missing.map((program) =>
    problem(`handler ${name}: ${program} is not installed`, `Install it, or correct its name in ${file}.`),
  );
  if (known !== undefined && !known.includes(name))
    verdicts.push(problem(`handler ${name}: the running containerd does not know it yet`, restart));
  if (of.length === 0)
    verdicts.push(
      warning(
        `handler ${name}: no RuntimeClass names it`,
        `Declare one next to the pod: kind: RuntimeClass, metadata: { name: ${name} }, handler: ${name}`,
      ),
    );
  return verdicts.length > 0 ? verdicts : [ok(`handler ${name}: installed, RuntimeClass ${of.join(', ')}`)];
}

function judgeClass(
  { name, handler }: HandlerFacts['classes'][number],
  known: readonly string[] | undefined,
): Verdict[] {
  if (known === undefined) return [];
  if (known.includes(handler)) return [ok(`handler ${handler}: RuntimeClass ${name}`)];
  const fix = `Add a runtime ${handler} to the runtime, or correct the class.`;
  return [problem(`RuntimeClass ${name}: the container runtime has no handler ${handler}`, fix)];
}

/** Checks the files that describe devices, with all that they give to containers. */
export function checkCDI({ cdi, runtime }: Facts): Verdict[] {
  const answer = 'value' in runtime && runtime.value.kind === 'chosen' ? runtime.value.answer : undefined;
  const isOld = answer !== undefined && 'name' in answer && isWithoutCDI(answer);
  return onFact(cdi, (files) => [
    ...(isOld && files.length > 0
      ? [
          warning(
            `containerd ${answer.version} has no CDI, so pods with these devices do not start`,
            'Install containerd 1.7 or newer.',
          ),
        ]
      : []),
    ...files.flatMap(judgeCDIFile),
  ]);
}

const isWithoutCDI = ({ name, version }: { name: string; version: string }): boolean =>
  name === 'containerd' && /^v?1\.[0-6]\./.test(version);

const fixes: Readonly<Record<string, string>> = {
  device: 'Load the driver of the device, then generate the file again.',
  mount: 'Generate the file again, as after each update of the driver.',
  hook: 'Install the toolkit of the device, then generate the file again.',
};

function judgeCDIFile({ path, error, names, missing }: CDIFile): Verdict[] {
  if (error !== undefined) return [problem(`${path}: ${error}`, 'Generate the file again, or remove it.')];
  if (missing.length === 0) return [ok(`${path} names ${names.join(', ')}`)];
  return missing.map(({ use, path: host }) => problem(`${path}: ${use} ${host} is missing`, fixes[use] ?? ''));
}
