"""A call may be both: treated otherwise by the draft in shadow, and one on which a rule of it could not be decided."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('toolcalls', '0001_squashed_0010_words'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='shadowanswer',
            name='shadow_answer_once',
        ),
        migrations.AlterField(
            model_name='shadowanswer',
            name='change',
            field=models.CharField(choices=[('held', 'Held'), ('freed', 'Freed'), ('denied', 'Denied'), ('rerouted', 'Rerouted'), ('failed', 'Failed'), ('undecided', 'Undecided')], max_length=9),
        ),
        migrations.AddConstraint(
            model_name='shadowanswer',
            constraint=models.UniqueConstraint(fields=('draft', 'tool_call', 'change'), name='shadow_answer_once'),
        ),
    ]
