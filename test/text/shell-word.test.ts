import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { shellLine, shellWord } from '../../src/text/shell-word.ts';

/** The words that a shell passes to a program for this line. */
function wordsOf(shell: string, line: string): string[] {
  const script = `printf '%s\\0' ${line}`;
  return execFileSync(shell, ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

test.each([
  ['a-b_c./:=,@%+1', 'a-b_c./:=,@%+1'],
  ['', "''"],
  ['two words', "'two words'"],
  ["it's", String.raw`'it'\''s'`],
  ['=ls', "'=ls'"],
  ['~', "'~'"],
  ['$(reboot)', "'$(reboot)'"],
])('a word is quoted where needed: %s', (word, quoted) => {
  expect(shellWord(word)).toBe(quoted);
});

describe('a shell reads back', () => {
  const words = ['test -f /tmp/ready && touch /tmp/seen', '', "it's", '$(date) `date` "a" \\n *', '-c', '=ls', 'ä'];

  test('each word', () => {
    expect(wordsOf('sh', words.map(shellWord).join(' '))).toEqual(words);
    expect(wordsOf('sh', shellWord('a\nb'))).toEqual(['a\nb']);
  });

  test('a command with a script of several lines, from one line', () => {
    const script = "set -e\n\techo 'a\\n' 7\x017! \x7f\n";
    const line = shellLine([...words, script]);
    expect(line).not.toMatch(/\p{Cc}/u);
    expect(wordsOf('bash', line)).toEqual([...words, script]);
  });
});
