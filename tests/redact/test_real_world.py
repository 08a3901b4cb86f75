"""Secrets as they are met in files, commands and logs, and ordinary text that only resembles them. All values are made up.

In a row of `SECRETS` the secret is between guillemets: exactly that is replaced by a placeholder.
"""

from __future__ import annotations

import re

import pytest

from stenograph.redact import find_secrets, mask

_H32 = "9c1f04be7a2d46538e0b71c2d5f3a698"
_H40 = "9c1f04be7a2d46538e0b71c2d5f3a69804be7a2d"
_H64 = _H32 + "71c2d5f3a69804be9c1f04be7a2d4653"
_W15 = "kT9vQ2mLx8WzAA1"
_W24 = "kT9vQ2mLx8WzAA1pR7uYb3Nc"
_W36 = "kT9vQ2mLx8WzAA1pR7uYb3NcE5sGh6JdF0iM"
_W43 = _W36 + "o4KqZt1"
_B64 = "dXNlcjpodW50ZXIyLXdpdGgtYS1sb25nLXRhaWw="
_UUID = "3e5b0983-6394-4b28-9312-8c085518a9ff"
_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3NzEyMDQ1In0." + _W43

SECRETS = f"""
DB_PASS=«{_W15}»
DB_PASSWORD=«{_W15}»
export DATABASE_PASSWORD=«{_W15}»
export MYSQL_PWD="«{_W15}»"
PGPASSWORD=«{_W15}» psql -h db
REDIS_PASS='«{_W15}»'
SMTP_PASS=«{_W15}»
MAIL_PASSWORD="«x7 Kp29vm Qz81»"
APP_KEY=«{_W24}»
STRIPE_KEY=«{_W24}»
OPENAI_KEY=«{_W24}»
ENCRYPTION_KEY=«{_H64}»
JWT_SECRET=«{_W36}»
SESSION_SECRET=«{_W24}»
COOKIE_SECRET=«{_W24}»
SECRET_KEY_BASE=«{_H64}»
SECRET_KEY = '«django-insecure-7x!k2p9(v$m4q&z8@t1w»'
SECRET_KEY = "«7x!k2p9v m4q z8@t1w 5r3»"
AWS_BEARER_TOKEN_BEDROCK=«{_W43}»
AWS_SECRET_ACCESS_KEY=«kT9vQ2mLx8WzAA1pR7uYb3NcE5sGh6JdF0iMo4Kq»
aws_secret_access_key = «kT9vQ2mLx8WzAA1pR7uYb3NcE5sGh6JdF0iMo4Kq»
aws configure set aws_secret_access_key «kT9vQ2mLx8WzAA1pR7uYb3NcE5sGh6JdF0iMo4Kq»
AWS_SESSION_TOKEN=«{_W43 * 4}»
GITHUB_TOKEN=«{_H40}»
GITLAB_TOKEN=«{_W24}»
AZURE_DEVOPS_EXT_PAT=«{_W43.lower()}»
AZURE_CLIENT_SECRET=«{_W36}»
AZURE_OPENAI_API_KEY=«{_H32}»
OPENAI_API_KEY=«{_W43}»
ANTHROPIC_AUTH_TOKEN=«{_W43}»
MISTRAL_API_KEY=«{_W36}»
COHERE_API_KEY=«{_W36}»
DEEPSEEK_API_KEY=«sk-{_H32}»
ZHIPU_API_KEY=«{_H32}.{_W15}b»
DATADOG_API_KEY=«{_H32}»
DD_APP_KEY=«{_H40}»
NEW_RELIC_LICENSE_KEY=«{_H40}»
ALGOLIA_ADMIN_KEY=«{_H32}»
SENTRY_AUTH_TOKEN=«{_H64}»
HEROKU_API_KEY=«{_UUID}»
MAILGUN_API_KEY=«{_H32}-1a2b3c4d-5e6f7a8b»
CIRCLE_TOKEN=«{_H40}»
TRAVIS_TOKEN=«{_W24}»
SONAR_TOKEN=«{_H40}»
SNYK_TOKEN=«7f3c9a1e5b7d2f486a8cb0d1e3f5»
CODECOV_TOKEN=«{_W36}»
API_TOKEN=«{_W15 * 20}»
API_TOKEN=«{_W15 * 400}»
TOKEN=«kT12345vQ2abcdeLx8Wz»
PASSWORD=«pa$$w0rd9x7K(2)»
password: «{_W15}»
password: "«{_W15}»"
password: "«hu$ter2!(x)9»"
password = '«Tr0ub4dor&3»'
"password": "«hunter2»",
"password": "«kT12345vQ2»"
\\"password\\": \\"«{_W15}»\\"
'api_key': '«{_W24}»'
"apiKey": "«{_W24}»"
"client_secret": "«{_W36}»"
"refresh_token": "«{_W43}»"
"access_token": "«{_W43}»", "expires_in": 3600
"private_key_id": "x", "secret": "«{_W24}»"
"auths": {{"registry.example.org": {{"auth": "«{_B64}»"}}}}
"AccessKeySecret": "«kT9vQ2mLx8WzAA1pR7uYb3NcE5sGh6»"
"SecretAccessKey": "«kT9vQ2mLx8WzAA1pR7uYb3NcE5sGh6JdF0iMo4Kq»"
"Password": "«&1-3a6u:RA0djs»"
config["api_key"] = "«{_W24}»"
os.environ["API_KEY"] = "«{_W24}»"
os.environ.setdefault("API_KEY", "«{_W24}»")
client = Client(api_key="«{_W24}»", timeout=3)
API_KEY: str = "«{_W24}»"
const apiKey = "«{_W24}»";
const token: string = '«{_W24}»';
let password = `«{_W15}»`;
var clientSecret = "«{_W24}»"
final String apiKey = "«{_W24}»";
private const string ApiKey = "«{_W24}»";
api_key := "«{_W24}»"
:secret => '«{_W24}»'
'secret_key' => '«{_W24}»',
define('AUTH_KEY', '«7x!k2p9v$m4q8z7t1w#Q2»');
$password = "«{_W15}»"
PASSWORD = b"«{_W15}»"
password=«{_W15}»&user=anna
?access_token=«{_W24}»&page=2
?api_key=«{_H32}»
?token=«{_W24}»&x=1
&client_secret=«{_W24}»
&X-Amz-Security-Token=«{_W43}»
spring.datasource.password=«{_W15}»
redis.password = «{_W15}»
<password>«{_W15}»</password>
<password>«hunter2»</password>
<apiKey>«{_W24}»</apiKey>
--token «{_W24}»
--token=«{_W24}»
--token '«{_W24}»'
--password «hunter2»
--password=«hunter2» --host db
--api-key «{_W24}» run
--api-key="«{_W24}»"
--auth-token «{_H40}»
--client-secret «{_W36}» --tenant x
--master-user-password «secret99» \\
npm publish --//registry.npmjs.org/:_authToken=«{_W36}»
//registry.npmjs.org/:_authToken=«{_UUID}»
_auth = "«{_B64}»"
curl -u anna:«hunter2» https://example.org
curl --user 'anna:«{_W15}»' https://example.org
curl -H "Authorization: token «{_H40}»" https://api.example.org
curl -H 'X-Api-Key: «{_W24}»' https://api.example.org
curl -H "Private-Token: «{_W24}»" https://gitlab.example.org
Authorization: token «{_H40}»
Authorization: ApiKey «{_W24}»
Authorization: «{_W36}»
Authorization: Basic «{_B64}»
Authorization: Bearer «{_W36}»
Authorization: Bearer «{_W43 * 120}»
Authorization: GenieKey «{_UUID[:8]}{_W24}»
authorization: key «{_W36}»
"Authorization": "token «{_H40}»"
"authorization": "Bearer «{_W36}»"
Proxy-Authorization: Basic «{_B64}»
X-Auth-Token: «{_W24}»
X-Vault-Token: «hvs.{_W36}»
X-Api-Key: «{_W24}»
Ocp-Apim-Subscription-Key: api key «{_H32}»
Cookie: sessionid=«{_W24}»
Cookie: a=«x; sid={_H32}; theme=dark9»
"Cookie": "sid=«{_H32}»"
Set-Cookie: sid=«{_H32}»; Path=/; HttpOnly
set-cookie: connect.sid=«s%3A{_W24}»; Secure
https://«{_H40}»@github.com/someone/project.git
https://«{_W36}»:@github.com/someone/project.git
https://oauth2:«{_W24}»@gitlab.com/someone/project.git
https://anna:«{_W15}»@git.example.org/x.git
postgres://app:«hunter2»@db:5432/x
mongodb+srv://app:«{_W15}»@cluster.example.net/x
redis://:«{_W15}»@cache:6379/0
amqps://app:«{_W15}»@mq/v
Server=db;User Id=sa;Password=«hunter2»;Encrypt=true
DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«{_W43 + _W43}==»;EndpointSuffix=core.windows.net
Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=a;SharedAccessKey=«{_W43}=»
jdbc:mysql://h/db?user=a&password=«hunter2»
{_H32}.«{_W15}b» is the key
key of Zhipu: {_H32}.«kT9vQ2mLx8WzAA1b»
«sk-ant-api03-{_W43}{_W43}AA»
«sk-{_W43}»
«sk-proj-{_W43}_{_W43}»
«sk-or-v1-{_H64}»
«gsk_{_W43}»
«xai-{_W43}{_W43}»
«hf_{_W36}»
«ghp_{_W36}»
«ghp_{_W36}github_pat_{_W24}_{_W43}»
«ghp_{_W36}ghp_{_W36}»
«github_pat_{_W24}_{_W43}»
«glpat-{_W24}»
«xoxb-123456789012-{_W24}»
«AIzaSy{_W36[:33]}»
«AKIAQ7Z2M9XK4VJ8T1WB»
«sk_live_{_W24}»
«rk_live_{_W24}»
«whsec_{_W36}»
«npm_{_W36}»
«pypi-AgEIcHlwaS5vcmc{_W43}{_W43}»
«SG.{_W24[:22]}.{_W43}»
«dop_v1_{_H64}»
«ya29.{_W43}»
«GOCSPX-{_W36[:28]}»
«lin_api_{_W43[:40]}»
«dckr_pat_{_W36[:27]}»
«figd_{_W43}»
«r8_{_W43[:37]}»
«nvapi-{_W43}{_W24}»
«dapi{_H32}»
«glsa_{_W36[:32]}_1a2b3c4d»
«{_JWT}»
secret: «{_UUID}»
api key: «{_H32}»
machine api.example.org login anna password «{_W24}»
ENV NPM_TOKEN «{_W36}»
git config --global github.token «{_H40}»
echo "//npm.example.org/:_authToken=«{_W36}»" > .npmrc
docker login -u anna --password «{_W15}» registry.example.org
mysql --user=root --password=«{_W15}» shop
kubectl create secret generic db --from-literal=password=«{_W15}»
terraform apply -var="db_password=«{_W15}»"
gh secret set DEPLOY_TOKEN --body x # DEPLOY_TOKEN=«{_W24}»
"env": [{{"name": "DB_PASS", "value": "«{_W15}»"}}]
\\"name\\": \\"X-Api-Key\\", \\"value\\": \\"«{_W24}»\\"
["--token", "«{_W24}»"]
DEBUG token=«{_W24}» user=7
""".strip("\n").split("\n")


@pytest.mark.parametrize("row", SECRETS, ids=[f"{number:03}-{row[:40]}" for number, row in enumerate(SECRETS)])
def test_a_secret_as_it_is_met(row: str) -> None:
    before, secret, after = re.split("[«»]", row)
    masked, count = mask(before + secret + after)
    assert count >= 1
    assert re.fullmatch(re.escape(before) + r"\[[a-z-]+:1\]" + re.escape(after), masked), masked


HARMLESS = rf"""
commit {_H40}
{_H64}  dist/stenograph-0.1.0.tar.gz
sha256:{_H64}
"integrity": "sha512-{_W43}{_W43}=="
"sessionId": "{_UUID}"
"uuid":"{_UUID}","parentUuid":null
toolu_01{_W24} and msg_01{_W24}
request id req_011CS{_W15}
index 3f9a1c5..b07e4d6 100644
/home/anna/.cache/pip/wheels/9c/1f/04/{_H40}
node_modules/.pnpm/react-dom@18.2.0_react@18.2.0/node_modules
main.{_H32}.js and app.{_H32}.chunk
{_H32}.chunkmanifestjsn
file-{_H32}.thisisalongname
token = tokens[index2]
token = next(tokens2)
token = self.tokenizer2.next_token()
tokens = 123456, max_tokens=64000, total_tokens: 1234567
"input_tokens": 4, "cache_read_input_tokens": 18231
next_token=a1b2c3d4e5f6a7b8
nextPageToken: "a1b2c3d4e5f6a7b8"
--starting-token a1b2c3d4e5f6a7b8
--max-tokens 64000x
--token <TOKEN> --password <password>
--password PASSWORD
--token $TOKEN --password "$DB_PASSWORD2"
--token-file /run/secrets/token1a2b3c
--password-stdin
password = getpass.getpass()
password = os.environ["DB_PASSWORD"]
password = os.getenv("PASSWORD_2", "")
password = "your-password-1234abcd"
password: "********"
password: string
password: Optional[str] = None
password: str
"password": "string"
"password": "Password must have at least 8 characters"
"password": "Enter your password"
"password": ""
"token": "${{TOKEN}}"
"token": "{{{{ secrets.TOKEN_2 }}}}"
api_key=API_KEY
API_KEY=${{ secrets.API_KEY }}
API_KEY=$(pass show key2)
API_KEY=$MY_API_KEY_2
API_KEY=xxxxxxxx-xxxx1234
api_key: 12345
api_key = "abc123"
PASSWORD=12345678
secret_name = "projects/a1b2/secrets/db"
SECRET_NAME=my-app-secret-2024a
TOKEN_URL=https://login.example.org/oauth2/v2.0/token
TOKEN_ENDPOINT=login2.example.org/oauth2a1
PASSWORD_FILE=/run/secrets/db_password1a2b
TOKEN_TTL=3600seconds1
secretKeyRef: {{name: db2, key: password}}
secretName: tls-cert-2024a1b2
secret: /run/secrets/a1b2c3d4
private_key_path: ~/.ssh/id_ed25519
private_key: Ed25519PrivateKey
public_key = "{_H64}"
primary_key=True, foreign_key=user2id
PRIMARY_KEY=a1b2c3d4e5f6a7b8
PUBLIC_KEY={_H64}
CACHE_KEY=a1b2c3d4e5f6a7b8
cache_key = "{_H32}"
key = "{_H32}"
sort_key: a1b2c3d4e5f6
idempotency_key: {_UUID}
keyboard_layout=qwertz1a2b3c4d
monkey=a1b2c3d4e5f6
author=a1b2c3d4e5f6
authority: login1a2b3c.example.org
compass=a1b2c3d4e5f6
bypass: a1b2c3d4e5f6
passed=a1b2c3d4e5f6
passenger: a1b2c3d4e5f6
tests passed: 3f9a1c52b07e
tokenizer_config: a1b2c3d4e5f6
secretary: a1b2c3d4e5f6
if token == "a1b2c3d4e5f6":
if (password !== a1b2c3d4e5f6) return
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Basic authentication is described below
authorization = AuthorizationHeader(scheme2)
"Authorization": `Bearer ${{token}}`
AggregationAuthorization: 48205d4ffd7feba3
Cookie: theme=dark
Cookie: session=<id>
cookie = request.cookies.get("sid")
const cookie = document.cookie;
set-cookie is a header
the bearer of this letter
git@github.com:someone/project.git
ssh://git@github.com/someone/project.git
https://user@example.org/path
https://example.org/@scope/package
http://localhost:8080/@fs/home
https://pkg.example.org:443/a@b
anna@example.org
mailto:anna.2024@example.org
@pytest.mark.parametrize
npm install @types/node@20.11.5
postgres://app:$PASSWORD@db/x
postgres://app:${{PW}}@db/x
redis://localhost:6379/0
Server=db;Password=${{DB_PASSWORD}};
arn:aws:secretsmanager:us-west-2:123456789012:secret:MySecret2-a1b2c3
"encryptionKey": "arn:aws:kms:us-west-2:123456789012:alias/aws/s3"
"AWS::ApiGateway::Stage": "48205d4ffd7feba3"
docker run -u 1000:1000 image
docker run --user 1000:1000 image
curl -u user:password https://example.org
chown -R root:root1234 /srv
risk-assessment-2024-and-everything-after-it
sk-toggleable-content-arrow-is-a-class-of-a-library
task-list-with-a-very-long-name-that-goes-on-2
class="sk-spinner sk-chasing-dot2"
npm_config_registry=x npm_lifecycle_event=test1
hf_tokenizer_fast2
pul-request-2024
AKIA is how they begin
eyJ is how tokens begin
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{_W43}
-----BEGIN CERTIFICATE-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{_W43} anna@host
[github-token:3f9a1c52b07e]
password: [assigned-secret:1]
"password": "[assigned-secret:3f9a1c52b07e]"
--token [github-token:1]
Authorization: Bearer [bearer-token:1]
https://x:[url-password:1]@h
""".strip("\n").split("\n")


@pytest.mark.parametrize("text", HARMLESS, ids=[f"{number:03}-{row[:40]}" for number, row in enumerate(HARMLESS)])
def test_ordinary_text_stays_visible(text: str) -> None:
    assert [text[secret.start : secret.end] for secret in find_secrets(text)] == []


@pytest.mark.parametrize("row", SECRETS, ids=[f"{number:03}-{row[:40]}" for number, row in enumerate(SECRETS)])
def test_a_secret_is_found_among_many_others(row: str) -> None:
    """Where there are so many places that rules search instead of trying each one."""
    text = re.sub("[«»]", "", row)
    many = f"{text}\n" * 40
    alone = find_secrets(text + "\n")
    expected = [
        (each.start + number * (len(text) + 1), each.end + number * (len(text) + 1)) for number in range(40) for each in alone
    ]
    assert [(each.start, each.end) for each in find_secrets(many)] == expected
