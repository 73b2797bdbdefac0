import { pages, readDocument } from './documents.ts';

/** A command in a console block of docs/start or docs/use, without its output. */
interface ConsoleCommand {
  page: string;
  /** With its continuation lines and here-documents, and without a comment. */
  command: string;
}

export const consoleCommands: readonly ConsoleCommand[] = pages
  .filter((page) => /^docs\/(start|use)\//.test(page))
  .flatMap((page) =>
    [...readDocument(page).matchAll(/^```console\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
      [...block.matchAll(/^[$#] (.*<<END\n[^]*?^END$|(?:.*\\\n)*.*)/gm)].map(([, line = '']) => ({
        page,
        command: line.replace(/ +# .*$/m, ''),
      })),
    ),
  );

/** What the commands need that no test has. */
const needs: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['kubeadm', /^docs\/use\/control-plane\.md/],
  ['a cluster', / kubectl /],
  ['systemd', / systemctl | (un)?install-service| ln -s /],
  ['a package', / (npm|apt|install) /],
  ['a network', / images pull | --manifest-url | --image busybox | --remove trace/],
  ['another release', / upgrade /],
  ['a bare machine', / --with-programs |install-bundle$/],
  ['another program', / (oras|kompose|podman|minisign|cosign) /],
  ['a terminal', / -it | ui$/],
  ['CRIU', / checkpoint /],
  ['a machine whose checks all succeed', / doctor /],
  ['an end, because it follows', / logs -f | events -w | port-forward /],
];

/** What a command needs that no test has. Returns undefined if test/e2e/docs.test.ts runs it. */
export function missingFor({ page, command }: ConsoleCommand): string | undefined {
  return needs.find(([, pattern]) => pattern.test(`${page} ${command}`))?.[0];
}
